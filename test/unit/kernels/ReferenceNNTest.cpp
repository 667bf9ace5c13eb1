//===- ReferenceNNTest.cpp - nn ops of the reference in f64 ---------------===//
//
// Against plain loops to rounding, and gradients against central differences of them. In f64 neither a table or
// constant in f32 nor a wrong formula of small effect can hide. (NNKernelsTest.cpp has both targets in f32.)
//
//===----------------------------------------------------------------------===//
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;
using plain::Array;
using plain::Ids;

namespace {

constexpr double rounding = 1e-13, differences = 1e-8;

/// One op in f64 (i32 for ids) with its data.
class Op {
public:
  explicit Op(std::string name, std::string attributes = "")
      : name(std::move(name)), attributes(std::move(attributes)) {}

  Op &in(const std::string &operand, const std::vector<int64_t> &shape, const Array &values) {
    inputs.push_back({operand, tensorType(shape, "f64")});
    arrays.emplace_back(operand, values);
    return *this;
  }
  Op &in(const std::string &operand, const std::vector<int64_t> &shape, const Ids &values) {
    inputs.push_back({operand, tensorType(shape, "i32")});
    ids.emplace_back(operand, values);
    return *this;
  }
  /// `old`: what the init holds before, unless the op overwrites all of it.
  Op &out(const std::string &operand, const std::vector<int64_t> &shape, const Array &old = {}) {
    inits.push_back({operand, tensorType(shape, "f64"), "output"});
    if (!old.empty())
      arrays.emplace_back(operand, old);
    return *this;
  }
  /// The inits after a run, in order.
  std::vector<Array> run() const {
    Kernel kernel(entry(name, inputs, inits, attributes), Target::Reference);
    for (const Operand &init : inits)
      kernel.set(init.name, Array(kernel.get<double>(init.name).size(), 7));
    for (const auto &[operand, values] : arrays)
      kernel.set(operand, values);
    for (const auto &[operand, values] : ids)
      kernel.set(operand, values);
    EXPECT_TRUE(kernel.run()) << name;
    std::vector<Array> results;
    for (const Operand &init : inits)
      results.push_back(kernel.get<double>(init.name));
    return results;
  }

private:
  std::string name, attributes;
  std::vector<Operand> inputs, inits;
  std::vector<std::pair<std::string, Array>> arrays;
  std::vector<std::pair<std::string, Ids>> ids;
};

struct ReferenceNN : testing::Test {
  std::mt19937 rng{11};
  Array random(size_t n, double scale = 1) { return randomVector<double>(n, rng, scale); }
};

TEST_F(ReferenceNN, AddAndFill) {
  Array a = random(35), b = random(35), sum(35);
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] = a[i] + b[i];
  EXPECT_EQ(Op("nn.add").in("a", {5, 7}, a).in("b", {5, 7}, b).out("c", {5, 7}).run()[0], sum);
  EXPECT_EQ(Op("nn.fill", "{value = 0.1 : f64}").out("x", {5, 7}).run()[0], Array(35, 0.1));
}

TEST_F(ReferenceNN, SiluMul) {
  Array gate = random(35, 3), up = random(35), dy = random(35);
  Array y = Op("nn.silu_mul").in("gate", {5, 7}, gate).in("up", {5, 7}, up).out("y", {5, 7}).run()[0];
  EXPECT_LT(relativeError(y, plain::siluMul(gate, up)), rounding);
  auto grads = Op("nn.silu_mul_grad")
                   .in("gate", {5, 7}, gate)
                   .in("up", {5, 7}, up)
                   .in("dy", {5, 7}, dy)
                   .out("dgate", {5, 7})
                   .out("dup", {5, 7})
                   .run();
  auto ofGate = [&](const Array &gate) { return plain::siluMul(gate, up); };
  auto ofUp = [&](const Array &up) { return plain::siluMul(gate, up); };
  EXPECT_LT(relativeError(grads[0], plain::numericGradient(gate, dy, ofGate)), differences);
  EXPECT_LT(relativeError(grads[1], plain::numericGradient(up, dy, ofUp)), differences);
}

TEST_F(ReferenceNN, Embedding) {
  const int64_t V = 6, F = 5, T = 9;
  Array table = random(V * F), dx = random(T * F), x(T * F), dtable(V * F);
  Ids ids = {5, 0, 3, 3, 1, 0, 5, 5, 3};
  for (int64_t t = 0; t < T; ++t)
    for (int64_t f = 0; f < F; ++f) {
      x[t * F + f] = table[ids[t] * F + f];
      dtable[ids[t] * F + f] += dx[t * F + f];
    }
  EXPECT_EQ(Op("nn.embedding").in("table", {V, F}, table).in("ids", {T}, ids).out("x", {T, F}).run()[0], x);
  EXPECT_EQ(Op("nn.embedding_grad").in("dx", {T, F}, dx).in("ids", {T}, ids).out("dtable", {V, F}).run()[0], dtable);
}

TEST_F(ReferenceNN, RMSNorm) {
  const int64_t T = 5, F = 9;
  const double eps = 1e-3;
  std::string attributes = "{eps = 1.0e-3 : f64}";
  Array x = random(T * F), gamma = random(F), dy = random(T * F);
  Array y = Op("nn.rms_norm", attributes).in("x", {T, F}, x).in("gamma", {F}, gamma).out("y", {T, F}).run()[0];
  EXPECT_LT(relativeError(y, plain::rmsNorm(x, gamma, eps)), rounding);
  auto grads = Op("nn.rms_norm_grad", attributes)
                   .in("x", {T, F}, x)
                   .in("gamma", {F}, gamma)
                   .in("dy", {T, F}, dy)
                   .out("dx", {T, F})
                   .out("dgamma", {F})
                   .run();
  auto ofX = [&](const Array &x) { return plain::rmsNorm(x, gamma, eps); };
  auto ofGamma = [&](const Array &gamma) { return plain::rmsNorm(x, gamma, eps); };
  EXPECT_LT(relativeError(grads[0], plain::numericGradient(x, dy, ofX)), differences);
  EXPECT_LT(relativeError(grads[1], plain::numericGradient(gamma, dy, ofGamma)), differences);
}

// Positions up to 4,200: the angles are large, and right only in double.
TEST_F(ReferenceNN, Rope) {
  const int64_t T = 8400, F = 12;
  Array x = random(T * F);
  for (bool inverse : {false, true}) {
    std::string attributes =
        "{head_dim = 6, seq_len = 4200, theta = 10000.0 : f64" + std::string(inverse ? ", inverse}" : "}");
    Array y = Op("nn.rope", attributes).in("x", {T, F}, x).out("y", {T, F}).run()[0];
    EXPECT_LT(relativeError(y, plain::rope(x, F, 6, 4200, 10000, inverse)), 1e-12);
  }
  Array token(x.begin(), x.begin() + F);
  Array y = Op("nn.rope_at", "{head_dim = 6, seq_len = 4200, theta = 500000.0 : f64}")
                .in("x", {1, F}, token)
                .in("position", {}, Ids{4001})
                .out("y", {1, F})
                .run()[0];
  EXPECT_LT(relativeError(y, plain::rope(token, F, 6, 4200, 500000, false, 4001)), 1e-12);
}

TEST_F(ReferenceNN, Attention) {
  const int64_t H = 4, G = 2, D = 3, S = 5, T = 2 * S;
  std::string attributes = "{num_heads = 4, num_kv_heads = 2, seq_len = 5}";
  // Large scores: exp overflows without the running maximum.
  Array q = random(T * H * D), k = random(T * G * D), v = random(T * G * D), dy = random(T * H * D), large = q;
  for (double &value : large)
    value *= 300;
  auto forward = [&](const Array &q) {
    return Op("nn.attention", attributes)
        .in("q", {T, H * D}, q)
        .in("k", {T, G * D}, k)
        .in("v", {T, G * D}, v)
        .out("o", {T, H * D})
        .out("lse", {H, T})
        .run();
  };
  auto plainOutput = [&](const Array &q, const Array &k, const Array &v) {
    return plain::attention(q, k, v, H, G, D, S);
  };
  auto got = forward(q);
  auto want = plainOutput(q, k, v);
  EXPECT_LT(relativeError(got[0], want.o), rounding);
  EXPECT_LT(relativeError(got[1], want.lse), rounding);
  for (double value : forward(large)[0])
    EXPECT_TRUE(std::isfinite(value));

  auto grads = Op("nn.attention_grad", attributes)
                   .in("q", {T, H * D}, q)
                   .in("k", {T, G * D}, k)
                   .in("v", {T, G * D}, v)
                   .in("o", {T, H * D}, want.o)
                   .in("lse", {H, T}, want.lse)
                   .in("dy", {T, H * D}, dy)
                   .out("dq", {T, H * D})
                   .out("dk", {T, G * D})
                   .out("dv", {T, G * D})
                   .run();
  auto ofQ = [&](const Array &q) { return plainOutput(q, k, v).o; };
  auto ofK = [&](const Array &k) { return plainOutput(q, k, v).o; };
  auto ofV = [&](const Array &v) { return plainOutput(q, k, v).o; };
  EXPECT_LT(relativeError(grads[0], plain::numericGradient(q, dy, ofQ)), differences);
  EXPECT_LT(relativeError(grads[1], plain::numericGradient(k, dy, ofK)), differences);
  EXPECT_LT(relativeError(grads[2], plain::numericGradient(v, dy, ofV)), differences);
}

// Token by token over the cache is what attention gives at once.
TEST_F(ReferenceNN, CachedAttention) {
  const int64_t H = 4, G = 2, D = 3, S = 6;
  Array q = random(S * H * D), k = random(S * G * D), v = random(S * G * D), kCache(S * G * D, 5), vCache(S * G * D, 5);
  Array want = plain::attention(q, k, v, H, G, D, S).o;
  auto row = [](const Array &a, int64_t t, int64_t F) { return Array(a.begin() + t * F, a.begin() + (t + 1) * F); };
  for (int64_t t = 0; t < 4; ++t) {
    auto got = Op("nn.cached_attention", "{num_heads = 4, num_kv_heads = 2}")
                   .in("q", {1, H * D}, row(q, t, H * D))
                   .in("k", {1, G * D}, row(k, t, G * D))
                   .in("v", {1, G * D}, row(v, t, G * D))
                   .in("position", {}, Ids{int32_t(t)})
                   .out("o", {1, H * D})
                   .out("kc", {S, G * D}, kCache)
                   .out("vc", {S, G * D}, vCache)
                   .run();
    EXPECT_LT(relativeError(got[0], row(want, t, H * D)), rounding) << t;
    kCache = got[1];
    vCache = got[2];
  }
  Array written(k.begin(), k.begin() + 4 * G * D);
  written.resize(S * G * D, 5);
  EXPECT_EQ(kCache, written) << "what lies behind the position stays";
}

TEST_F(ReferenceNN, SelectToken) {
  Array x = random(35);
  EXPECT_EQ(Op("nn.select_token").in("x", {5, 7}, x).in("index", {}, Ids{3}).out("y", {1, 7}).run()[0],
            Array(x.begin() + 21, x.begin() + 28));
}

TEST_F(ReferenceNN, Linear) {
  const int64_t T = 5, N = 7, K = 9;
  Array x = random(T * K), w = random(N * K), dy = random(T * N);
  EXPECT_LT(relativeError(Op("nn.linear").in("x", {T, K}, x).in("w", {N, K}, w).out("y", {T, N}).run()[0],
                          plain::linear(x, w, N, K)),
            rounding);
  EXPECT_LT(relativeError(Op("nn.linear_grad_input").in("dy", {T, N}, dy).in("w", {N, K}, w).out("dx", {T, K}).run()[0],
                          plain::linear(dy, plain::transpose(w, N, K), K, N)),
            rounding);
  EXPECT_LT(
      relativeError(Op("nn.linear_grad_weight").in("x", {T, K}, x).in("dy", {T, N}, dy).out("dw", {N, K}).run()[0],
                    plain::linear(plain::transpose(dy, T, N), plain::transpose(x, T, K), K, T)),
      rounding);
}

TEST_F(ReferenceNN, LinearCrossEntropy) {
  const int64_t T = 7, F = 4, V = 11;
  Array x = random(T * F), w = random(V * F);
  Ids targets = {3, -1, 0, 10, -100, 3, 7};
  auto loss = [&](const Array &x, const Array &w) { return Array{plain::crossEntropy(x, w, targets, V, F).loss}; };
  auto want = plain::crossEntropy(x, w, targets, V, F);
  auto got = Op("nn.linear_cross_entropy")
                 .in("x", {T, F}, x)
                 .in("w", {V, F}, w)
                 .in("targets", {T}, targets)
                 .in("num_valid", {}, Ids{5})
                 .out("loss", {})
                 .out("lse", {T})
                 .run();
  EXPECT_NEAR(got[0][0], want.loss, rounding * want.loss);
  EXPECT_LT(relativeError(got[1], want.lse), rounding);
  auto grads = Op("nn.linear_cross_entropy_grad")
                   .in("x", {T, F}, x)
                   .in("w", {V, F}, w)
                   .in("targets", {T}, targets)
                   .in("num_valid", {}, Ids{5})
                   .in("lse", {T}, want.lse)
                   .in("dloss", {}, Array{1.5})
                   .out("dx", {T, F})
                   .out("dw", {V, F})
                   .run();
  auto ofX = [&](const Array &x) { return loss(x, w); };
  auto ofW = [&](const Array &w) { return loss(x, w); };
  EXPECT_LT(relativeError(grads[0], plain::numericGradient(x, Array{1.5}, ofX)), differences);
  EXPECT_LT(relativeError(grads[1], plain::numericGradient(w, Array{1.5}, ofW)), differences);
}

} // namespace
