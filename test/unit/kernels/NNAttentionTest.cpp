//===- NNAttentionTest.cpp - attention of whole sequences -----------------===//
//
// Against plain loops, whose gradient is compared with differences of the plain forward loops.
//
//===----------------------------------------------------------------------===//
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;
using plain::Array;

namespace {

std::vector<float> toFloat(const Array &values) { return {values.begin(), values.end()}; }
/// What the kernel sees of the values, in double.
Array rounded(const std::vector<float> &values) { return {values.begin(), values.end()}; }

struct Size {
  int64_t heads, kvHeads, headDim, seqLen, tokens;

  int64_t features() const { return heads * headDim; }
  int64_t kvFeatures() const { return kvHeads * headDim; }
};

std::ostream &operator<<(std::ostream &out, const Size &s) {
  return out << s.heads << " heads, " << s.kvHeads << " kv heads of " << s.headDim << ", " << s.tokens << " tokens by "
             << s.seqLen;
}

/// Random operands, the plain loops' results and how to run an op on them.
struct Problem {
  Problem(const Size &s, std::mt19937 &rng)
      : s(s), q(randomVector<float>(s.tokens * s.features(), rng, 2)),
        k(randomVector<float>(s.tokens * s.kvFeatures(), rng, 2)),
        v(randomVector<float>(s.tokens * s.kvFeatures(), rng)), dO(randomVector<float>(s.tokens * s.features(), rng)),
        forward(plain::attention(rounded(q), rounded(k), rounded(v), s.heads, s.kvHeads, s.headDim, s.seqLen)),
        backward(plain::attentionGrad(rounded(q), rounded(k), rounded(v), rounded(dO), s.heads, s.kvHeads, s.headDim,
                                      s.seqLen)) {}

  std::string wide() const { return tensorType({s.tokens, s.features()}); }
  std::string narrow() const { return tensorType({s.tokens, s.kvFeatures()}); }
  std::string stats() const { return tensorType({s.heads, s.tokens}); }
  std::string attributes() const {
    return "{num_heads = " + std::to_string(s.heads) + " : i64, num_kv_heads = " + std::to_string(s.kvHeads) +
           " : i64, seq_len = " + std::to_string(s.seqLen) + " : i64}";
  }
  void setInputs(Kernel &kernel) const {
    kernel.set("q", q);
    kernel.set("k", k);
    kernel.set("v", v);
  }

  Size s;
  std::vector<float> q, k, v, dO;
  plain::AttentionResult forward;
  plain::AttentionGradient backward;
};

/// Heads and groups of them; features that are no whole chunks in shared memory, and more than a chunk; one tile,
/// several, tokens that are no whole tiles, and sequences that begin inside of tiles.
const std::vector<Size> sizes{{4, 4, 8, 128, 256},  {4, 2, 8, 128, 256},   {4, 1, 8, 128, 256}, {2, 1, 24, 64, 128},
                              {2, 2, 40, 192, 192}, {2, 1, 128, 128, 128}, {3, 1, 12, 48, 48},  {2, 1, 20, 16, 32},
                              {2, 1, 8, 70, 140},   {2, 2, 16, 100, 100},  {2, 1, 6, 24, 72},   {1, 1, 4, 1, 3}};

struct NNAttention : testing::TestWithParam<Target> {
  /// On the CPU, sequences are whole tiles of tokens.
  static bool hasKernel(const Size &s) {
    return GetParam() != Target::CPU || s.seqLen % (s.tokens < 64 ? 16 : 64) == 0;
  }
  std::mt19937 rng{7};
};

} // namespace

TEST_P(NNAttention, Forward) {
  for (const Size &s : sizes) {
    if (!hasKernel(s))
      continue;
    SCOPED_TRACE(testing::Message() << s);
    Problem problem(s, rng);
    Kernel kernel(entry("nn.attention", {{"q", problem.wide()}, {"k", problem.narrow()}, {"v", problem.narrow()}},
                        {{"o", problem.wide(), "output"}, {"lse", problem.stats(), "output"}}, problem.attributes()),
                  GetParam());
    problem.setInputs(kernel);
    ASSERT_TRUE(kernel.run());
    EXPECT_LT(relativeError(kernel.get<float>("o"), problem.forward.o), 2e-6);
    EXPECT_LT(relativeError(kernel.get<float>("lse"), problem.forward.lse), 2e-6);
  }
}

TEST_P(NNAttention, Gradient) {
  for (const Size &s : sizes) {
    if (!hasKernel(s))
      continue;
    SCOPED_TRACE(testing::Message() << s);
    Problem problem(s, rng);
    std::string wide = problem.wide(), narrow = problem.narrow();
    Kernel kernel(
        entry("nn.attention_grad",
              {{"q", wide}, {"k", narrow}, {"v", narrow}, {"o", wide}, {"lse", problem.stats()}, {"dO", wide}},
              {{"dq", wide, "output"}, {"dk", narrow, "output"}, {"dv", narrow, "output"}}, problem.attributes()),
        GetParam());
    problem.setInputs(kernel);
    kernel.set("o", toFloat(problem.forward.o));
    kernel.set("lse", toFloat(problem.forward.lse));
    kernel.set("dO", problem.dO);
    ASSERT_TRUE(kernel.run());
    EXPECT_LT(relativeError(kernel.get<float>("dq"), problem.backward.dq), 4e-6);
    EXPECT_LT(relativeError(kernel.get<float>("dk"), problem.backward.dk), 4e-6);
    EXPECT_LT(relativeError(kernel.get<float>("dv"), problem.backward.dv), 4e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, NNAttention,
                         testing::Values(Target::Reference, Target::CPU, Target::GPU, Target::GPUChecked), nameOf);

// Pairs of tiles that nobody sees are not computed; all loads are of whole sectors, shared memory has no conflicts.
TEST(NNAttentionTraffic, IsWhatTilesNeed) {
  const Size s{4, 2, 16, 128, 256};
  const int64_t tiles = 2, pairs = s.heads * s.tokens / s.seqLen * tiles * (tiles + 1) / 2, tile = 64;
  std::mt19937 rng(5);
  Problem problem(s, rng);
  std::string wide = problem.wide(), narrow = problem.narrow();
  auto expect = [&](Kernel &kernel, const std::string &name, int64_t products, int64_t loadedTiles) {
    ASSERT_TRUE(kernel.run());
    rt::KernelCounters counters = kernel.counters(name);
    int64_t multiplyAdds = products * pairs * tile * tile * s.headDim;
    EXPECT_GT(counters.flops, 2 * multiplyAdds);
    EXPECT_LT(counters.flops, 2 * multiplyAdds + products * pairs * tile * tile * 40); // exponentials, mostly
    EXPECT_EQ(counters.sharedConflicts, 0);
    EXPECT_LE(counters.globalLoadSectors, counters.globalLoadBytes / 32);
    EXPECT_LE(counters.globalLoadSectors, loadedTiles * pairs * tile * s.headDim / 8);
  };
  Kernel forward(entry("nn.attention", {{"q", wide}, {"k", narrow}, {"v", narrow}},
                       {{"o", wide, "output"}, {"lse", problem.stats(), "output"}}, problem.attributes()),
                 Target::GPUChecked);
  expect(forward, "nn_attention", 2, 3); // q, k, v;
  Kernel backward(
      entry("nn.attention_grad",
            {{"q", wide}, {"k", narrow}, {"v", narrow}, {"o", wide}, {"lse", problem.stats()}, {"dO", wide}},
            {{"dq", wide, "output"}, {"dk", narrow, "output"}, {"dv", narrow, "output"}}, problem.attributes()),
      Target::GPUChecked);
  expect(backward, "nn_attention_grad", 7, 13); // q, k, v, do and once more k, do, q; delta;
}

// On a GPU tokens are padded to whole tiles. Where the padding of q, k and v is zero, so is that of the output and the
// gradients, whatever that of do: sums over tokens of other kernels include it.
TEST(NNAttentionPadding, StaysZero) {
  const Size s{2, 1, 8, 70, 70};
  const int64_t padded = 128;
  std::mt19937 rng(5);
  auto packed = [&](int64_t features) { return tensorType({1, features, padded}); };
  auto random = [&](int64_t features) {
    auto values = randomVector<float>(features * padded, rng);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] *= int64_t(i) % padded < s.tokens;
    return values;
  };
  auto expectPadding = [&](Kernel &kernel, const std::string &name) {
    auto values = kernel.get<float>(name);
    for (size_t i = 0; i < values.size(); ++i)
      if (int64_t(i) % padded >= s.tokens)
        ASSERT_EQ(values[i], 0) << name << " " << i;
  };
  std::string wide = packed(s.features()), narrow = packed(s.kvFeatures()), stats = tensorType({s.heads, s.tokens});
  std::string attributes = "{num_heads = 2 : i64, num_kv_heads = 1 : i64, seq_len = 70 : i64}";
  auto q = random(s.features()), k = random(s.kvFeatures()), v = random(s.kvFeatures());
  Kernel forward(entry("nn.attention", {{"q", wide}, {"k", narrow}, {"v", narrow}},
                       {{"o", wide, "output"}, {"lse", stats, "output"}}, attributes),
                 Target::GPU);
  Kernel backward(entry("nn.attention_grad",
                        {{"q", wide}, {"k", narrow}, {"v", narrow}, {"o", wide}, {"lse", stats}, {"dO", wide}},
                        {{"dq", wide, "output"}, {"dk", narrow, "output"}, {"dv", narrow, "output"}}, attributes),
                  Target::GPU);
  for (Kernel *kernel : {&forward, &backward}) {
    kernel->set("q", q);
    kernel->set("k", k);
    kernel->set("v", v);
  }
  forward.set("o", std::vector<float>(q.size(), NAN));
  ASSERT_TRUE(forward.run());
  expectPadding(forward, "o");
  backward.set("o", forward.get<float>("o"));
  backward.set("lse", forward.get<float>("lse"));
  backward.set("dO", randomVector<float>(s.features() * padded, rng));
  for (const char *name : {"dq", "dk", "dv"})
    backward.set(name, std::vector<float>(name[1] == 'q' ? q.size() : k.size(), NAN));
  ASSERT_TRUE(backward.run());
  for (const char *name : {"dq", "dk", "dv"})
    expectPadding(backward, name);
}

// Along random directions of q, k and v, what the gradient says is what differences of the output say.
TEST(NNAttentionPlainLoops, Gradient) {
  std::mt19937 rng(3);
  for (const Size &s : {Size{4, 2, 8, 24, 48}, {3, 1, 5, 7, 21}}) {
    Problem problem(s, rng);
    Array q = rounded(problem.q), k = rounded(problem.k), v = rounded(problem.v);
    Array directions[] = {rounded(randomVector<float>(q.size(), rng)), rounded(randomVector<float>(k.size(), rng)),
                          rounded(randomVector<float>(v.size(), rng))};
    const Array *gradients[] = {&problem.backward.dq, &problem.backward.dk, &problem.backward.dv};
    Array *inputs[] = {&q, &k, &v};
    for (int i = 0; i < 3; ++i) {
      auto value = [&](double h) {
        Array old = *inputs[i];
        for (size_t j = 0; j < old.size(); ++j)
          (*inputs[i])[j] += h * directions[i][j];
        Array o = plain::attention(q, k, v, s.heads, s.kvHeads, s.headDim, s.seqLen).o;
        *inputs[i] = old;
        double sum = 0;
        for (size_t j = 0; j < o.size(); ++j)
          sum += o[j] * problem.dO[j];
        return sum;
      };
      double numeric = (value(1e-5) - value(-1e-5)) / 2e-5, analytic = 0;
      for (size_t j = 0; j < directions[i].size(); ++j)
        analytic += (*gradients[i])[j] * directions[i][j];
      EXPECT_NEAR(analytic, numeric, 1e-7 * std::max(1.0, std::abs(numeric))) << s << ", "
                                                                              << "qkv"[i];
    }
  }
}
