//===- TrainingProgramTest.cpp - whole training programs ------------------===//
//
// A small LLaMA, compiled for both targets and run by the runtime: the targets agree along a topology trace, results do
// not depend on the number of threads, and nothing of the size of a dense weight or of all logits exists.
//
//===----------------------------------------------------------------------===//
#include "runtime/program/Instance.h"
#include "runtime/support/AllocationLog.h"
#include "test/unit/support/CompileText.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

using namespace smet;
using namespace smet::rt;
namespace fs = std::filesystem;

namespace {

constexpr int64_t vocabulary = 97, batch = 3, seqLen = 100; // padded to 128

std::string request(const std::string &target, const std::string &method = "smet", const std::string &block = "[8, 8]",
                    const std::string &extra = "") {
  return R"({"kind": "train", "target": ")" + target + R"(", "method": ")" + method +
         R"(", "density": 0.25, "block": )" + block + R"(, "batch": 3, "seq_len": 100)" + extra + R"(,
    "model": {"vocab_size": 97, "hidden_size": 64, "intermediate_size": 104, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128}})";
}

/// A loaded training program with fixed inputs.
struct Training {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Instance> instance;

  explicit Training(const std::string &json, int threads = 1) {
    static int count = 0;
    fs::path path = fs::temp_directory_path() /
                    ("smet-program-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".smet");
    std::string errors = test::compileModel(json, path);
    if (!errors.empty()) {
      ADD_FAILURE() << errors;
      return;
    }
    pool = std::move(*ThreadPool::create(threads));
    auto loaded = Instance::load(path, *pool);
    fs::remove(path);
    if (!loaded) {
      ADD_FAILURE() << loaded.error().message;
      return;
    }
    instance = std::move(*loaded);
    set<int64_t>("seed", 5);
    run("init");
  }

  template <typename T> T &scalar(const std::string &name) { return (*instance->arena().tensor<T>(name))[0]; }
  template <typename T> void set(const std::string &name, T value) { scalar<T>(name) = value; }
  void run(const std::string &entry) {
    auto outcome = instance->run(entry);
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_EQ(*outcome, Outcome::Ok);
  }

  float step(int64_t t) {
    auto tokens = *instance->arena().tensor<int32_t>("tokens"), targets = *instance->arena().tensor<int32_t>("targets");
    std::mt19937 rng(t);
    for (int64_t i = 0; i < int64_t(tokens.size()); ++i) {
      bool padding = i % 128 >= seqLen;
      tokens[i] = padding ? 0 : rng() % vocabulary;
      targets[i] = padding ? -1 : (3 * tokens[i] + 1) % vocabulary;
    }
    set<int32_t>("num_valid", batch * seqLen);
    set<float>("lr", 1e-2f);
    set<int64_t>("step", t);
    run("train_step");
    return scalar<float>("loss");
  }

  void update(int64_t number) {
    set<int64_t>("update", number);
    set<double>("prune_rate", 0.3);
    run("update_topology");
  }

  /// The bytes of everything that persists, tensor by tensor.
  std::vector<std::pair<std::string, std::string>> state(bool topologyOnly = false) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const TensorInfo &info : instance->manifest().tensors)
      if (info.role == Role::Topology || (!topologyOnly && (info.role == Role::Param || info.role == Role::State))) {
        auto bytes = instance->arena().bytes(info);
        all.emplace_back(info.name, std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
      }
    return all;
  }
};

} // namespace

TEST(TrainingProgram, TargetsAgreeAlongATopologyTrace) {
  for (const char *block : {"[8, 8]", "[1, 1]", "[1, 8]"}) {
    Training cpu(request("cpu", "smet", block)), reference(request("reference", "smet", block));
    ASSERT_TRUE(cpu.instance && reference.instance);
    EXPECT_EQ(cpu.state(), reference.state()) << "both start from the same bits";
    for (int64_t t = 1; t <= 20; ++t) {
      float a = cpu.step(t), b = reference.step(t);
      EXPECT_NEAR(a, b, 1e-5 * b) << "step " << t << " block " << block;
      if (t % 7 == 0) {
        auto before = cpu.state(/*topologyOnly=*/true);
        cpu.update(t / 7);
        reference.update(t / 7);
        ASSERT_EQ(cpu.state(true), reference.state(true)) << "the trace";
        EXPECT_NE(cpu.state(true), before) << "an update moves blocks";
      }
    }
  }
}

TEST(TrainingProgram, DenseTargetsAgree) {
  Training cpu(request("cpu", "dense")), reference(request("reference", "dense"));
  ASSERT_TRUE(cpu.instance && reference.instance);
  float first = cpu.step(1), last = 0;
  EXPECT_NEAR(first, reference.step(1), 1e-5 * first);
  for (int64_t t = 2; t <= 20; ++t) {
    last = cpu.step(t);
    EXPECT_NEAR(last, reference.step(t), 1e-5 * std::max(last, 1.0f)) << t; // it falls to a tenth
  }
  EXPECT_LT(last, first - 0.5) << "it learns";
}

TEST(TrainingProgram, InitStartsAgainAtAnyTime) {
  Training run(request("cpu"));
  ASSERT_TRUE(run.instance);
  auto fresh = run.state();
  run.step(1);
  run.update(1);
  EXPECT_NE(run.state(), fresh);
  run.run("init");
  EXPECT_EQ(run.state(), fresh);
}

TEST(TrainingProgram, BitsDoNotDependOnThreads) {
  auto train = [](int threads) {
    Training run(request("cpu"), threads);
    for (int64_t t = 1; t <= 12 && run.instance; ++t) {
      run.step(t);
      if (t % 4 == 0)
        run.update(t / 4);
    }
    return run.instance ? run.state() : decltype(run.state())();
  };
  auto one = train(1);
  ASSERT_FALSE(one.empty());
  for (int threads : {2, 8})
    for (auto &[name, bytes] : train(threads)) {
      auto same = std::find_if(one.begin(), one.end(), [&](auto &pair) { return pair.first == name; });
      EXPECT_TRUE(same->second == bytes) << name << " differs with " << threads << " threads";
    }
}

TEST(TrainingProgram, DenseEqualsSmetAtFullDensity) {
  std::string full = request("cpu", "smet", "[8, 8]", R"(, "warmup_updates": 1)");
  full.replace(full.find("0.25"), 4, "1.00");
  Training sparse(full), dense(request("cpu", "dense"));
  ASSERT_TRUE(sparse.instance && dense.instance);
  for (int64_t t = 1; t <= 10; ++t) {
    float a = sparse.step(t), b = dense.step(t);
    EXPECT_NEAR(a, b, 1e-4 * b) << t;
  }
}

// No N x K array of a sparse layer and no [tokens, vocabulary] array: not among the tensors, not among the buffers of
// the runtime. The sizes of this model are chosen so that no activation has such a size by chance.
TEST(TrainingProgram, NoDenseGhost) {
  Training run(R"({"kind": "train", "method": "smet", "density": 0.1, "block": [16, 16], "batch": 2, "seq_len": 64,
    "model": {"vocab_size": 997, "hidden_size": 512, "intermediate_size": 1040, "num_hidden_layers": 1,
              "num_attention_heads": 8, "max_position_embeddings": 64}})");
  ASSERT_TRUE(run.instance);
  run.step(1);
  run.update(1);
  const Manifest &manifest = run.instance->manifest();
  ASSERT_EQ(manifest.layers.size(), 7u);
  for (const SparseLayer &layer : manifest.layers)
    for (const TensorInfo &info : manifest.tensors)
      if (info.name != "workspace" && !info.name.starts_with("lm_head") &&
          !info.name.starts_with("model.embed_tokens")) {
        EXPECT_LT(info.bytes, layer.rows * layer.cols * 4) << info.name << " is as large as the dense " << layer.name;
      }
  for (const Allocation &allocation : allocationLog())
    if (allocation.name != "arena") {
      EXPECT_LT(allocation.bytes, 512 * 512 * 4) << allocation.name;
    }
}

// The calls are announced one after the other, and the end. Their work is that of the model by formula: 2 FLOPs a token
// and weight for each product, in the padded batch.
TEST(TrainingProgram, TraceAndWorkFollowTheManifest) {
  Training run(request("cpu"));
  ASSERT_TRUE(run.instance);
  run.step(1);
  const Manifest &manifest = run.instance->manifest();
  for (const char *entry : {"train_step", "update_topology"}) {
    Profile profile(manifest.calls.at(entry));
    ASSERT_TRUE(run.instance->run(entry, &profile));
    int64_t calls = 0;
    for (const Profile::Row &row : profile.byOp())
      calls += row.calls;
    EXPECT_EQ(calls, int64_t(manifest.calls.at(entry).size())) << entry;
  }

  std::map<std::string, CallInfo> sums;
  for (const CallInfo &call : manifest.calls.at("train_step")) {
    CallInfo &sum = sums[call.op];
    sum.flops += call.flops;
    sum.bytes += call.bytes;
  }
  const int64_t tokens = batch * 128, hidden = 64, pairs = batch * (128 * 129 / 2), heads = 4, headDim = 16, layers = 2;
  int64_t active = 0;
  for (const SparseLayer &layer : manifest.layers)
    active += layer.nnz * layer.blockRows * layer.blockCols;
  EXPECT_EQ(sums["smet.spmm"].flops, 2 * 2 * active * tokens) << "y and dx";
  EXPECT_EQ(sums["smet.sddmm_adam"].flops, (2 * tokens + 14) * active);
  EXPECT_EQ(sums["nn.linear_cross_entropy_with_grad"].flops, (6 * hidden + 7) * tokens * vocabulary);
  EXPECT_EQ(sums["nn.attention"].flops, layers * heads * pairs * (4 * headDim + 4));
  EXPECT_EQ(sums["nn.attention_grad"].flops, layers * (heads * pairs * (10 * headDim + 6) + 2 * tokens * hidden));
  EXPECT_EQ(sums["nn.rms_norm"].bytes, (2 * layers + 1) * 4 * (2 * tokens * hidden + hidden));
  EXPECT_EQ(sums["nn.embedding"].bytes, 4 * tokens + 2 * 4 * tokens * hidden);
  // 7 accesses of 4 bytes a weight (w, m, v twice, the gradient once), and lr and step; two matrices and five norms.
  int64_t dense = 2 * vocabulary * hidden + (2 * layers + 1) * hidden;
  EXPECT_EQ(sums["smet.dense_adam_step"].bytes, 28 * dense + 12 * (2 * layers + 3));
}

// With the fused optimizer in f32, a layer of N weights at density d in blocks of B weights has d N (8 + 6 / B) bytes of
// moments, index (4) and age (2), and 4 to 8 bytes a block for the transposed index; positions come on top.
TEST(TrainingProgram, StateMemoryFollowsTheFormula) {
  for (auto [block, size] : {std::pair("[8, 8]", 64), {"[1, 1]", 1}, {"[1, 8]", 8}}) {
    Training run(request("cpu", "smet", block));
    ASSERT_TRUE(run.instance);
    for (const SparseLayer &layer : run.instance->manifest().layers) {
      int64_t bytes = 0, positions = 0;
      for (const TensorInfo &info : run.instance->manifest().tensors)
        if (info.name.starts_with(layer.name + ".")) {
          bool isPositions = info.name.ends_with("positions");
          (isPositions ? positions : bytes) += info.bytes;
        }
      double weights = double(layer.nnz) * size;
      EXPECT_GE(bytes, weights * (8 + 4.0 / size)) << layer.name;
      EXPECT_LE(bytes, weights * (8 + 6.0 / size) + 8 * layer.nnz) << layer.name << " block " << block;
      EXPECT_EQ(positions, 4 * (layer.rows / layer.blockRows + 1 + layer.cols / layer.blockCols + 1));
    }
  }
}
