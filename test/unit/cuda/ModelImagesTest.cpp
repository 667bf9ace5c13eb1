//===- ModelImagesTest.cpp - whole models as images for GPUs --------------===//
//
// Every kernel of every entry point, in the sizes of llama_60m: a kernel that a conversion adds is in one of these
// programs, and so in this test.
//
//===----------------------------------------------------------------------===//
#include "Images.h"

#include <fstream>
#include <set>

using namespace smet;
using namespace smet::test;
namespace fs = std::filesystem;

namespace {

struct ModelImages : testing::TestWithParam<std::string> {
  fs::path cache = fs::temp_directory_path() / fmt::format("smet-model-images-{}", getpid());
  std::set<std::string> ops; ///< of the entry points that were compiled
  nlohmann::json model;

  void SetUp() override {
    std::ifstream(SMET_SOURCE_DIR "/configs/llama_60m.json") >> model;
    model["num_hidden_layers"] = 1; // others have the same kernels
    model["num_key_value_heads"] = 4;
  }
  void TearDown() override { fs::remove_all(cache); }

  void compile(const std::string &kind, const std::string &method, const std::string &dtype, int64_t blockRows,
               int64_t blockCols) {
    SCOPED_TRACE(fmt::format("{} {} {} {}x{}", kind, method, dtype, blockRows, blockCols));
    auto kernels = compileImages({{"kind", kind},
                                  {"method", method},
                                  {"dtype", dtype},
                                  {"density", 0.1},
                                  {"block", {blockRows, blockCols}},
                                  {"batch", 2},
                                  {"seq_len", 256},
                                  {"model", model}},
                                 GetParam(), cache);
    expectNoSpills(kernels);
    for (const rt::KernelReport &k : kernels)
      ops.insert(k.callee.substr(0, k.callee.rfind('_')));
  }
};

} // namespace

TEST_P(ModelImages, Train) {
  for (const char *dtype : {"f32", "bf16"})
    for (auto [rows, cols] : {std::pair{1, 1}, {1, 16}, {16, 16}})
      compile("train", "smet", dtype, rows, cols);
  compile("train", "dense", "f32", 16, 16);
  for (const char *op : {"k_smet_spmm", "k_smet_sddmm_adam", "k_nn_attention", "k_nn_attention_grad", "k_nn_rms_norm",
                         "k_nn_linear", "k_nn_linear_cross_entropy", "k_nn_rope", "k_nn_embedding_grad", "k_prune",
                         "k_grow_random", "k_update_topology", "k_remap"})
    EXPECT_TRUE(ops.contains(op)) << op;
}

TEST_P(ModelImages, Infer) {
  for (const char *dtype : {"f32", "bf16"})
    for (auto [rows, cols] : {std::pair{1, 1}, {1, 16}, {16, 16}})
      compile("infer", "smet", dtype, rows, cols);
  EXPECT_TRUE(ops.contains("k_nn_cached_attention"));
}

INSTANTIATE_TEST_SUITE_P(Chips, ModelImages, testing::Values("sm_80", "sm_90a"));
