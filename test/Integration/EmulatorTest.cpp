//===- EmulatorTest.cpp - training by the kernels of a GPU ----------------===//
#include "Tools.h"
#include "Topologies.h"

#include "runtime/train/Metrics.h"

using namespace smet::test;
using namespace smet::rt;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

class EmulatorTest : public Tools, public testing::WithParamInterface<const char *> {
protected:
  /// The losses of a run of the tiny model, of few tokens.
  std::vector<double> losses(const std::string &flags, std::string_view out) {
    std::string tiny = std::string(SMET_SOURCE_DIR) + "/configs/llama_tiny.json";
    EXPECT_EQ(train(fmt::format("--model {} --block {} --density 0.1 --seq-len 64 --batch-size 2 --lr 2e-3 --steps 12 "
                                "--update-every 5 --eval-every 0 {} --out {}",
                                tiny, GetParam(), flags, out)),
              0)
        << output;
    auto records = readMetrics(folder / out / "metrics.jsonl");
    EXPECT_TRUE(records) << messageOf(records);
    std::vector<double> losses;
    for (const nlohmann::json &record : records.value_or(std::vector<nlohmann::json>()))
      losses.push_back(record["loss"]);
    return losses;
  }

  void expectClose(const std::vector<double> &gpu, const std::vector<double> &cpu, double tolerance) {
    ASSERT_EQ(gpu.size(), 12u);
    ASSERT_EQ(cpu.size(), 12u);
    for (size_t i = 0; i < 12; ++i)
      EXPECT_NEAR(gpu[i], cpu[i], tolerance * cpu[i]) << "step " << i + 1;
    EXPECT_LT(gpu[11], gpu[0]) << "it learns";
  }
};

} // namespace

// Two topology updates, each drawn by the target itself. Among thousands of single weights two have scores so close
// that a rounding decides which of them is pruned; else the traces are the same.
TEST_P(EmulatorTest, TrainsAsTheCpuDoes) {
  expectClose(losses("--target gpu-emulator", "gpu"), losses("--target cpu", "cpu"), 1e-4);
  Topologies gpu = topology(checkpoint("gpu", 12)), cpu = topology(checkpoint("cpu", 12));
  int64_t blocks = common(cpu, cpu), allowed = GetParam() == std::string("1x1") ? blocks / 10000 : 0;
  EXPECT_GE(common(gpu, cpu), blocks - allowed) << "of " << blocks;
}

TEST_P(EmulatorTest, TrainsAsTheCpuDoesInBF16) {
  expectClose(losses("--target gpu-emulator --dtype bf16", "gpu"), losses("--target cpu --dtype bf16", "cpu"), 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Blocks, EmulatorTest, testing::Values("1x1", "1x16", "16x16"),
                         [](auto &info) { return std::string(info.param); });

namespace {
using EmulatorRunTest = Tools;
}

// A small model whose kernels are checked, its commands, and what is refused.
TEST_F(EmulatorRunTest, Checks) {
  ASSERT_EQ(train("--target gpu-emulator --check --steps 3 --update-every 2 --eval-every 0 --batch-size 1"), 0)
      << output;
  EXPECT_NE(run("smet train --config small.toml --target gpu-emulator --tune --out other"), 0);
  EXPECT_THAT(output, HasSubstr("--tune chooses kernels of --target cpu"));
  EXPECT_NE(train("--check --out other"), 0);
  EXPECT_THAT(output, HasSubstr("--check is of --target gpu-emulator"));
  ASSERT_EQ(run("smet generate --checkpoint run --prompt a --max-tokens 3"), 0) << output;
  ASSERT_EQ(run("smet eval --checkpoint run"), 0) << output;
}
