//===- NNKernelsTest.cpp - nn ops against plain loops and finite differences -===//
//
// Gradients are compared with central differences of the plain forward loops, so no formula is shared.
//
//===----------------------------------------------------------------------===//
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;
using plain::Array;
using plain::Ids;

namespace {

/// What the kernel sees of the values, in double.
Array rounded(const std::vector<float> &values) { return {values.begin(), values.end()}; }

struct NNKernels : testing::TestWithParam<Target> {
  std::mt19937 rng{7};
  std::vector<float> random(size_t n, double scale = 1) { return randomVector<float>(n, rng, scale); }
};

} // namespace

TEST_P(NNKernels, Add) {
  std::string type = tensorType({70, 48});
  Kernel k(entry("nn.add", {{"a", type}, {"b", type}}, {{"c", type, "output"}}), GetParam());
  auto a = random(70 * 48), b = random(70 * 48);
  k.set("a", a);
  k.set("b", b);
  ASSERT_TRUE(k.run());
  auto c = k.get<float>("c");
  for (size_t i = 0; i < c.size(); ++i)
    EXPECT_EQ(c[i], a[i] + b[i]);
}

TEST_P(NNKernels, SiluMul) {
  std::string type = tensorType({70, 48});
  auto gate = random(70 * 48, 3), up = random(70 * 48), dy = random(70 * 48);
  {
    Kernel k(entry("nn.silu_mul", {{"gate", type}, {"up", type}}, {{"y", type, "output"}}), GetParam());
    k.set("gate", gate);
    k.set("up", up);
    ASSERT_TRUE(k.run());
    EXPECT_LT(relativeError(k.get<float>("y"), plain::siluMul(rounded(gate), rounded(up))), 1e-6);
  }
  Kernel k(entry("nn.silu_mul_grad", {{"gate", type}, {"up", type}, {"dy", type}},
                 {{"dgate", type, "output"}, {"dup", type, "output"}}),
           GetParam());
  k.set("gate", gate);
  k.set("up", up);
  k.set("dy", dy);
  ASSERT_TRUE(k.run());
  // Elementwise: one difference for all elements at once.
  Array g = rounded(gate), u = rounded(up), plus = g, minus = g, dgate(g.size()), dup(g.size());
  const double h = 1e-5;
  for (size_t i = 0; i < g.size(); ++i) {
    plus[i] += h;
    minus[i] -= h;
  }
  Array high = plain::siluMul(plus, u), low = plain::siluMul(minus, u), one = plain::siluMul(g, Array(g.size(), 1));
  for (size_t i = 0; i < g.size(); ++i) {
    dgate[i] = dy[i] * (high[i] - low[i]) / (2 * h);
    dup[i] = dy[i] * one[i];
  }
  EXPECT_LT(relativeError(k.get<float>("dgate"), dgate), 1e-6);
  EXPECT_LT(relativeError(k.get<float>("dup"), dup), 1e-6);
}

// y / gate is 1 / (1 + exp(-gate)): below zero as exact as the exponential.
TEST_P(NNKernels, Exponentials) {
  const size_t T = 640, F = 512, n = T * F;
  std::string type = tensorType({T, F});
  Kernel k(entry("nn.silu_mul", {{"gate", type}, {"up", type}}, {{"y", type, "output"}}), GetParam());
  std::vector<float> gate(n);
  for (size_t i = 0; i < n; ++i)
    gate[i] = -80 + float(160.0 * i / n);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special{-200, -1e30f, 0, 90, 1e30f, infinity, std::nanf(""), -std::nanf("")};
  std::ranges::copy(special, gate.begin());
  k.set("gate", gate);
  k.set("up", std::vector<float>(n, 1));
  ASSERT_TRUE(k.run());
  auto y = k.get<float>("y");
  for (size_t i = special.size(); i < n; ++i) {
    double want = gate[i] / (1 + std::exp(-double(gate[i])));
    ASSERT_LE(std::abs(y[i] - want), 3 * 0x1p-24 * std::abs(want)) << gate[i];
  }
  EXPECT_LT(std::abs(y[0]), 1e-35);
  EXPECT_LT(std::abs(y[1]), 1e-7);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 90);
  EXPECT_EQ(y[4], 1e30f);
  EXPECT_EQ(y[5], infinity);
  EXPECT_TRUE(std::isnan(y[6]) && std::isnan(y[7]));
}

TEST_P(NNKernels, RMSNorm) {
  const size_t T = 70, F = 20;
  std::string type = tensorType({T, F}), vector = tensorType({F});
  auto x = random(T * F), gamma = random(F), dy = random(T * F);
  auto forward = [&](const Array &x, const Array &gamma) { return plain::rmsNorm(x, gamma, 1e-6); };
  {
    Kernel k(entry("nn.rms_norm", {{"x", type}, {"gamma", vector}}, {{"y", type, "output"}}, "{eps = 1.0e-6 : f64}"),
             GetParam());
    k.set("x", x);
    k.set("gamma", gamma);
    ASSERT_TRUE(k.run());
    EXPECT_LT(relativeError(k.get<float>("y"), forward(rounded(x), rounded(gamma))), 1e-6);
  }
  Kernel k(entry("nn.rms_norm_grad", {{"x", type}, {"gamma", vector}, {"dy", type}},
                 {{"dx", type, "output"}, {"dgamma", vector, "output"}}, "{eps = 1.0e-6 : f64}"),
           GetParam());
  k.set("x", x);
  k.set("gamma", gamma);
  k.set("dy", dy);
  ASSERT_TRUE(k.run());
  Array dx =
      plain::numericGradient(rounded(x), rounded(dy), [&](const Array &x) { return forward(x, rounded(gamma)); });
  Array dgamma = plain::numericGradient(rounded(gamma), rounded(dy),
                                        [&](const Array &gamma) { return forward(rounded(x), gamma); });
  EXPECT_LT(relativeError(k.get<float>("dx"), dx), 1e-5);
  EXPECT_LT(relativeError(k.get<float>("dgamma"), dgamma), 1e-5);
}

TEST_P(NNKernels, Embedding) {
  const size_t V = 11, F = 20, T = 128;
  std::string table = tensorType({V, F}), ids = tensorType({T}, "i32"), type = tensorType({T, F});
  auto values = random(V * F), dx = random(T * F);
  Ids tokens(T);
  for (int64_t t = 0; t < int64_t(T); ++t)
    tokens[t] = (t * t + 3 * t) % V; // repeats, and some id never
  {
    Kernel k(entry("nn.embedding", {{"table", table}, {"ids", ids}}, {{"x", type, "output"}}), GetParam());
    k.set("table", values);
    k.set("ids", tokens);
    ASSERT_TRUE(k.run());
    auto x = k.get<float>("x");
    for (int64_t t = 0; t < int64_t(T); ++t)
      for (size_t f = 0; f < F; ++f)
        ASSERT_EQ(x[t * F + f], values[tokens[t] * F + f]);
  }
  Kernel k(entry("nn.embedding_grad", {{"dx", type}, {"ids", ids}}, {{"dtable", table, "output"}}), GetParam());
  k.set("dx", dx);
  k.set("ids", tokens);
  ASSERT_TRUE(k.run());
  Array want(V * F, 0);
  for (int64_t t = 0; t < int64_t(T); ++t)
    for (size_t f = 0; f < F; ++f)
      want[tokens[t] * F + f] += dx[t * F + f];
  EXPECT_LT(relativeError(k.get<float>("dtable"), want), 1e-6);
}

TEST_P(NNKernels, Rope) {
  const size_t T = 256, F = 24, D = 8, S = 128;
  std::string type = tensorType({T, F});
  auto x = random(T * F);
  for (bool inverse : {false, true}) {
    Kernel k(entry("nn.rope", {{"x", type}}, {{"y", type, "output"}},
                   std::string("{head_dim = 8 : i64, seq_len = 128 : i64, theta = 10000.0 : f64") +
                       (inverse ? ", inverse}" : "}")),
             GetParam());
    k.set("x", x);
    ASSERT_TRUE(k.run());
    EXPECT_LT(relativeError(k.get<float>("y"), plain::rope(rounded(x), F, D, S, 10000, inverse)), 1e-6);
  }
}

// Sizes off the register tiles, panels and parts: rows by 6, 96 and 256, columns by 16 and 64, sums by 128; tiles in
// groups (1,088 tokens), one tile, and lanes that are no whole registers (20 tokens).
TEST_P(NNKernels, Linear) {
  struct Size {
    int64_t T, N, K;
  };
  for (auto [T, N, K] :
       {Size{192, 70, 33}, {576, 200, 80}, {64, 1, 270}, {20, 270, 64}, {1088, 13, 5}, {192, 300, 272}}) {
    SCOPED_TRACE(testing::Message() << T << " tokens, " << N << " x " << K);
    std::string x = tensorType({T, K}), y = tensorType({T, N}), w = tensorType({N, K});
    auto xs = random(T * K), ws = random(N * K), dys = random(T * N);
    {
      Kernel k(entry("nn.linear", {{"x", x}, {"w", w}}, {{"y", y, "output"}}), GetParam());
      k.set("x", xs);
      k.set("w", ws);
      ASSERT_TRUE(k.run());
      EXPECT_LT(relativeError(k.get<float>("y"), plain::linear(rounded(xs), rounded(ws), N, K)), 1e-6);
    }
    {
      Kernel k(entry("nn.linear_grad_input", {{"dy", y}, {"w", w}}, {{"dx", x, "output"}}), GetParam());
      k.set("dy", dys);
      k.set("w", ws);
      ASSERT_TRUE(k.run());
      Array want = plain::linear(rounded(dys), plain::transpose(rounded(ws), N, K), K, N);
      EXPECT_LT(relativeError(k.get<float>("dx"), want), 1e-6);
    }
    Kernel k(entry("nn.linear_grad_weight", {{"x", x}, {"dy", y}}, {{"dw", w, "output"}}), GetParam());
    k.set("x", xs);
    k.set("dy", dys);
    ASSERT_TRUE(k.run());
    Array want = plain::linear(plain::transpose(rounded(dys), T, N), plain::transpose(rounded(xs), T, K), K, T);
    EXPECT_LT(relativeError(k.get<float>("dw"), want), 2e-6);
  }
}

TEST_P(NNKernels, LinearCrossEntropy) {
  // Vocabularies below, at and beyond the panels of about 128 rows; tiles in groups; features beyond a chunk of a sum.
  struct Size {
    int64_t V, T, F;
  };
  // The largest has several chunks of tokens.
  for (auto [V, T, F] : {Size{37, 1088, 12}, {512, 128, 12}, {1100, 128, 140}, {200000, 128, 3}}) {
    if (V > 10000 && GetParam() == Target::Reference)
      continue; // its sums of that many terms, one after the other, lose more than the tolerance
    if (V > 10000 && GetParam() == Target::GPUChecked)
      continue; // minutes
    std::string x = tensorType({T, F}), w = tensorType({V, F}), ids = tensorType({T}, "i32");
    std::string scalar = tensorType({}), count = tensorType({}, "i32"), stats = tensorType({T});
    auto xs = random(T * F), ws = random(V * F);
    Ids targets(T);
    int32_t valid = 0;
    for (int64_t t = 0; t < int64_t(T); ++t) {
      targets[t] = t % 5 == 3 ? -1 : rng() % V;
      valid += targets[t] >= 0;
    }
    auto want = plain::crossEntropy(rounded(xs), rounded(ws), targets, V, F);
    std::vector<float> lse;
    {
      Kernel k(entry("nn.linear_cross_entropy", {{"x", x}, {"w", w}, {"targets", ids}, {"num_valid", count}},
                     {{"loss", scalar, "output"}, {"lse", stats, "output"}}),
               GetParam());
      k.set("x", xs);
      k.set("w", ws);
      k.set("targets", targets);
      k.set<int32_t>("num_valid", {valid});
      ASSERT_TRUE(k.run());
      EXPECT_NEAR(k.get<float>("loss")[0], want.loss, 1e-6 * want.loss);
      lse = k.get<float>("lse");
      EXPECT_LT(relativeError(lse, want.lse), 1e-6);
    }
    Kernel k(entry("nn.linear_cross_entropy_grad",
                   {{"x", x}, {"w", w}, {"targets", ids}, {"num_valid", count}, {"lse", stats}, {"dloss", scalar}},
                   {{"dx", x, "output"}, {"dw", w, "output"}}),
             GetParam());
    k.set("x", xs);
    k.set("w", ws);
    k.set("targets", targets);
    k.set<int32_t>("num_valid", {valid});
    k.set("lse", lse);
    k.set<float>("dloss", {1.5f});
    ASSERT_TRUE(k.run());
    // The whole gradient by differences would be slow: directional derivatives along random directions.
    auto dx = k.get<float>("dx"), dw = k.get<float>("dw");
    for (int sample = 0; sample < (V > 10000 ? 1 : 4); ++sample) {
      Array directionX = rounded(random(T * F)), directionW = rounded(random(V * F));
      auto value = [&](double h) {
        Array movedX = rounded(xs), movedW = rounded(ws);
        for (size_t i = 0; i < movedX.size(); ++i)
          movedX[i] += h * directionX[i];
        for (size_t i = 0; i < movedW.size(); ++i)
          movedW[i] += h * directionW[i];
        return 1.5 * plain::crossEntropy(movedX, movedW, targets, V, F).loss;
      };
      double numeric = (value(1e-5) - value(-1e-5)) / 2e-5, analytic = 0;
      for (size_t i = 0; i < dx.size(); ++i)
        analytic += dx[i] * directionX[i];
      for (size_t i = 0; i < dw.size(); ++i)
        analytic += dw[i] * directionW[i];
      EXPECT_NEAR(analytic, numeric, 2e-5 * std::max(1.0, std::abs(numeric))) << V;
    }
    for (int64_t t = 0; t < int64_t(T); ++t)
      if (targets[t] < 0) {
        EXPECT_EQ(dx[t * F], 0) << "an ignored token has no gradient";
      }
    Kernel both(entry("nn.linear_cross_entropy_with_grad",
                      {{"x", x}, {"w", w}, {"targets", ids}, {"num_valid", count}, {"dloss", scalar}},
                      {{"loss", scalar, "output"}, {"dx", x, "output"}, {"dw", w, "output"}}),
                GetParam());
    both.set("x", xs);
    both.set("w", ws);
    both.set("targets", targets);
    both.set<int32_t>("num_valid", {valid});
    both.set<float>("dloss", {1.5f});
    ASSERT_TRUE(both.run());
    EXPECT_NEAR(both.get<float>("loss")[0], want.loss, 1e-6 * want.loss);
    // The two sum up exponentials in different orders.
    EXPECT_LT(relativeError(both.get<float>("dx"), rounded(dx)), 5e-6);
    EXPECT_LT(relativeError(both.get<float>("dw"), rounded(dw)), 5e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, NNKernels,
                         testing::Values(Target::Reference, Target::CPU, Target::GPU, Target::GPUChecked), nameOf);
