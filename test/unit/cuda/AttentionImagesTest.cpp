//===- AttentionImagesTest.cpp - attention as images for GPUs -------------===//
//
// No kernel spills, whatever the size of a head, nor has more than the shared memory that every chip gives a block; all
// activations that several threads need are read 16 bytes at a time.
//
//===----------------------------------------------------------------------===//
#include "Images.h"

#include "test/unit/kernels/KernelHarness.h"

#include <algorithm>

using namespace smet;
using namespace smet::test;

namespace {

struct Heads {
  std::string chip, type;
  int64_t headDim;
};

std::ostream &operator<<(std::ostream &os, const Heads &h) { return os << h.chip << " " << h.type << " " << h.headDim; }

std::vector<Heads> heads() {
  std::vector<Heads> all;
  for (const char *chip : {"sm_80", "sm_90a"})
    for (const char *type : {"f32", "bf16"})
      for (int64_t headDim : {16, 24, 64, 128})
        all.push_back({chip, type, headDim});
  return all;
}

struct AttentionImages : testing::TestWithParam<Heads> {
  const Heads &h = GetParam();
  static constexpr int64_t tokens = 256;
  std::string activation(int64_t tokens, int64_t heads) const {
    return tensorType({tokens, heads * h.headDim}, h.type);
  }
  std::string q = activation(tokens, 4), k = activation(tokens, 2), lse = tensorType({4, tokens});

  void check(const std::string &op, const std::vector<Operand> &inputs, const std::vector<Operand> &inits,
             const std::string &sequences, int64_t wideKernels) {
    std::string attributes = "{num_heads = 4 : i64, num_kv_heads = 2 : i64" + sequences + "}";
    auto kernels = compileImages({{"module", entry(op, inputs, inits, attributes)}}, h.chip);
    expectNoSpills(kernels);
    int64_t wide = 0;
    for (const rt::KernelReport &kernel : kernels) {
      EXPECT_LE(kernel.sharedBytes, 48 << 10) << kernel.kernel;
      wide += kernel.callee.starts_with("k_nn_" + op.substr(3)) && kernel.globalLoads.contains(16);
    }
    EXPECT_EQ(wide, wideKernels) << op;
  }
};

} // namespace

TEST_P(AttentionImages, Attention) {
  check("nn.attention", {{"q", q}, {"k", k}, {"v", k}}, {{"o", q, "output"}, {"lse", lse, "output"}},
        ", seq_len = 128 : i64", 1);
}

TEST_P(AttentionImages, Gradient) {
  check("nn.attention_grad", {{"q", q}, {"k", k}, {"v", k}, {"o", q}, {"lse", lse}, {"dO", q}},
        {{"dq", q, "output"}, {"dk", k, "output"}, {"dv", k, "output"}}, ", seq_len = 128 : i64", 2);
}

TEST_P(AttentionImages, CachedAttention) {
  std::string one = activation(1, 4), kv = activation(1, 2), position = tensorType({}, "i32");
  check("nn.cached_attention", {{"q", one}, {"k", kv}, {"v", kv}, {"position", position}},
        {{"o", one, "output"}, {"k_cache", k, "state"}, {"v_cache", k, "state"}}, "", 2);
}

INSTANTIATE_TEST_SUITE_P(Heads, AttentionImages, testing::ValuesIn(heads()));
