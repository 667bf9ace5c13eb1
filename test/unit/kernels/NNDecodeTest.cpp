//===- NNDecodeTest.cpp - ops on one token, and its place in the cache ----===//
//
// Decoding token by token must give what the ops on whole sequences give: the expectation is the plain loops of those.
//
//===----------------------------------------------------------------------===//
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;
using plain::Array;

namespace {

Array rounded(const std::vector<float> &values) { return {values.begin(), values.end()}; }

/// Row t of [T, F].
template <typename T> std::vector<T> row(const std::vector<T> &x, int64_t t, size_t features) {
  return {x.begin() + t * features, x.begin() + (t + 1) * features};
}

struct NNDecode : testing::TestWithParam<Target> {
  std::mt19937 rng{11};
  std::vector<float> random(size_t n, double scale = 1) { return randomVector<float>(n, rng, scale); }
};

const std::string position = tensorType({}, "i32");

} // namespace

// Positions in order, into caches that hold NaN wherever nothing was written: what lies behind a position is not read.
TEST_P(NNDecode, CachedAttention) {
  for (int64_t kvHeads : {4, 2, 1}) {
    const int64_t heads = 4, D = 12, S = 128, F = heads * D, G = kvHeads * D;
    std::string wide = tensorType({1, F}), narrow = tensorType({1, G}), cache = tensorType({S, G});
    Kernel k(entry("nn.cached_attention", {{"q", wide}, {"k", narrow}, {"v", narrow}, {"position", position}},
                   {{"o", wide, "output"}, {"k_cache", cache, "state"}, {"v_cache", cache, "state"}},
                   "{num_heads = 4 : i64, num_kv_heads = " + std::to_string(kvHeads) + " : i64}"),
             GetParam());
    ASSERT_TRUE(k.valid());
    auto q = random(S * F, 2), key = random(S * G, 2), v = random(S * G);
    Array want = plain::attention(rounded(q), rounded(key), rounded(v), heads, kvHeads, D, S).o;
    k.set("k_cache", std::vector<float>(S * G, NAN));
    k.set("v_cache", std::vector<float>(S * G, NAN));
    for (int64_t t = 0; t < S; ++t) {
      k.set("q", row(q, t, F));
      k.set("k", row(key, t, G));
      k.set("v", row(v, t, G));
      k.set<int32_t>("position", {int32_t(t)});
      ASSERT_TRUE(k.run());
      ASSERT_LT(relativeError(k.get<float>("o"), row(want, t, F)), 2e-6) << "position " << t << " kv heads " << kvHeads;
    }
  }
}

TEST_P(NNDecode, RopeAt) {
  const int64_t F = 24, D = 8, S = 2048;
  std::string type = tensorType({1, F});
  Kernel k(entry("nn.rope_at", {{"x", type}, {"position", position}}, {{"y", type, "output"}},
                 "{head_dim = 8 : i64, seq_len = 2048 : i64, theta = 10000.0 : f64}"),
           GetParam());
  auto x = random(F);
  k.set("x", x);
  for (int64_t t : {0, 1, 63, 64, 1000, 2047}) {
    k.set<int32_t>("position", {int32_t(t)});
    ASSERT_TRUE(k.run());
    EXPECT_LT(relativeError(k.get<float>("y"), plain::rope(rounded(x), F, D, S, 10000, false, t)), 1e-6) << t;
  }
}

TEST_P(NNDecode, SelectToken) {
  const int64_t T = 128, F = 20;
  Kernel k(
      entry("nn.select_token", {{"x", tensorType({T, F})}, {"index", position}}, {{"y", tensorType({1, F}), "output"}}),
      GetParam());
  auto x = random(T * F);
  k.set("x", x);
  for (int64_t t : {0, 63, 64, 127}) {
    k.set<int32_t>("index", {int32_t(t)});
    ASSERT_TRUE(k.run());
    EXPECT_EQ(k.get<float>("y"), row(x, t, F)) << t;
  }
}

// Norm, SwiGLU, embedding and logits of a single token: vocabularies around the panels that threads share.
TEST_P(NNDecode, OneToken) {
  const int64_t F = 20;
  std::string one = tensorType({1, F}), vector = tensorType({F});
  auto x = random(F), gamma = random(F);
  {
    Kernel k(entry("nn.rms_norm", {{"x", one}, {"gamma", vector}}, {{"y", one, "output"}}, "{eps = 1.0e-5 : f64}"),
             GetParam());
    k.set("x", x);
    k.set("gamma", gamma);
    ASSERT_TRUE(k.run());
    EXPECT_LT(relativeError(k.get<float>("y"), plain::rmsNorm(rounded(x), rounded(gamma), 1e-5)), 1e-6);
  }
  {
    Kernel k(entry("nn.silu_mul", {{"gate", one}, {"up", one}}, {{"y", one, "output"}}), GetParam());
    k.set("gate", x);
    k.set("up", gamma);
    ASSERT_TRUE(k.run());
    EXPECT_LT(relativeError(k.get<float>("y"), plain::siluMul(rounded(x), rounded(gamma))), 1e-6);
  }
  for (int64_t V : {1, 255, 256, 700}) {
    auto w = random(V * F);
    Kernel embedding(
        entry("nn.embedding", {{"table", tensorType({V, F})}, {"ids", tensorType({1}, "i32")}}, {{"x", one, "output"}}),
        GetParam());
    embedding.set("table", w);
    embedding.set<int32_t>("ids", {int32_t(V - 1)});
    ASSERT_TRUE(embedding.run());
    EXPECT_EQ(embedding.get<float>("x"), row(w, V - 1, F));
    Kernel linear(entry("nn.linear", {{"x", one}, {"w", tensorType({V, F})}}, {{"y", tensorType({1, V}), "output"}}),
                  GetParam());
    linear.set("x", x);
    linear.set("w", w);
    ASSERT_TRUE(linear.run());
    EXPECT_LT(relativeError(linear.get<float>("y"), plain::linear(rounded(x), rounded(w), V, F)), 1e-6) << V;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, NNDecode,
                         testing::Values(Target::Reference, Target::CPU, Target::GPU, Target::GPUChecked), nameOf);
