//===- NNThreadsTest.cpp - nn kernels on other threads and processors -----===//
//
// Threads split the work and nothing else; narrower registers change the order of sums at most.
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

using namespace smet;
using namespace smet::test;

namespace {

struct Case {
  std::string op;
  std::vector<Operand> inputs, inits;
  std::string attributes;
};

/// Runs with random floats, ids below 300 and 100 valid targets; returns the bits of all outputs.
std::vector<float> bits(const Case &c, int threads, const std::string &cpu = "") {
  Kernel k(entry(c.op, c.inputs, c.inits, c.attributes), Target::CPU, threads, cpu);
  if (!k.valid())
    return {};
  std::mt19937 rng(5);
  for (const auto &tensor : k.manifest().tensors) {
    if (tensor.role != rt::Role::Input)
      continue;
    size_t n = 1;
    for (int64_t size : tensor.shape)
      n *= size;
    if (tensor.dtype == rt::DType::F32)
      k.set(tensor.name, randomVector<float>(n, rng, 0.5));
    else if (tensor.shape.empty())
      k.set<int32_t>(tensor.name, {100});
    else {
      std::vector<int32_t> ids(n);
      for (int32_t &id : ids)
        id = rng() % 300;
      k.set(tensor.name, ids);
    }
  }
  EXPECT_TRUE(k.run());
  std::vector<float> all;
  for (const Operand &init : c.inits) {
    auto values = k.get<float>(init.name);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<Case> cases() {
  const int64_t T = 384, F = 48, V = 300, H = 4;
  std::string x = tensorType({T, F}), gamma = tensorType({F}), ids = tensorType({T}, "i32"), w = tensorType({V, F});
  std::string y = tensorType({T, V}), scalar = tensorType({}), count = tensorType({}, "i32");
  std::string perToken = tensorType({T}), perHead = tensorType({H, T});
  std::string eps = "{eps = 1.0e-6 : f64}",
              attention = "{num_heads = 4 : i64, num_kv_heads = 4 : i64, seq_len = 192 : i64}";
  return {
      {"nn.silu_mul", {{"a", x}, {"b", x}}, {{"c", x, "output"}}, ""},
      {"nn.rms_norm_grad", {{"x", x}, {"g", gamma}, {"dy", x}}, {{"dx", x, "output"}, {"dg", gamma, "output"}}, eps},
      {"nn.embedding_grad", {{"dx", x}, {"ids", ids}}, {{"dtable", w, "output"}}, ""},
      {"nn.attention", {{"q", x}, {"k", x}, {"v", x}}, {{"o", x, "output"}, {"lse", perHead, "output"}}, attention},
      {"nn.attention_grad",
       {{"q", x}, {"k", x}, {"v", x}, {"o", x}, {"lse", perHead}, {"do", x}},
       {{"dq", x, "output"}, {"dk", x, "output"}, {"dv", x, "output"}},
       attention},
      {"nn.linear", {{"x", x}, {"w", w}}, {{"y", y, "output"}}, ""},
      {"nn.linear_grad_weight", {{"x", x}, {"dy", y}}, {{"dw", w, "output"}}, ""},
      {"nn.linear_cross_entropy",
       {{"x", x}, {"w", w}, {"targets", ids}, {"n", count}},
       {{"loss", scalar, "output"}, {"lse", perToken, "output"}},
       ""},
      {"nn.linear_cross_entropy_grad",
       {{"x", x}, {"w", w}, {"targets", ids}, {"n", count}, {"lse", perToken}, {"dloss", scalar}},
       {{"dx", x, "output"}, {"dw", w, "output"}},
       ""},
      {"nn.linear_cross_entropy_with_grad",
       {{"x", x}, {"w", w}, {"targets", ids}, {"n", count}, {"dloss", scalar}},
       {{"loss", scalar, "output"}, {"dx", x, "output"}, {"dw", w, "output"}},
       ""}};
}

} // namespace

TEST(NNThreads, DoNotChangeBits) {
  for (const Case &c : cases()) {
    auto one = bits(c, 1);
    ASSERT_FALSE(one.empty()) << c.op;
    for (int threads : {2, 5})
      EXPECT_EQ(bits(c, threads), one) << c.op << " on " << threads << " threads";
  }
}

// The kernels of 256-bit and 128-bit processors, against those of this one.
TEST(NNProcessors, AgreeWithinRounding) {
  for (const Case &c : cases())
    for (const char *cpu : {"x86-64-v3", "x86-64"})
      EXPECT_LT(relativeError(bits(c, 1, cpu), bits(c, 1)), 2e-6) << c.op << " on " << cpu;
}
