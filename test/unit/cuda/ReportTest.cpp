//===- ReportTest.cpp - the report in a program file ----------------------===//
#include "runtime/program/Program.h"
#include "runtime/report/KernelReport.h"
#include "test/unit/kernels/KernelHarness.h"

#include <gmock/gmock.h>
#include <unistd.h>

using namespace smet;
using namespace smet::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A program of one product: 10 blocks of 16 x 16 of a 64 x 128 matrix, 256 tokens, already packed.
struct Report : testing::Test {
  fs::path path = fs::temp_directory_path() / fmt::format("smet-report-{}.smet", getpid());

  rt::Manifest compile(const std::string &target, const std::string &format = "bin") {
    std::string text = entry("smet.spmm",
                             {{"t", "!smet.topology<64x128, block = [16, 16], nnz = 10>", "topology"},
                              {"w", tensorType({10, 16, 16})},
                              {"x", tensorType({256, 128}), "state"}},
                             {{"y", tensorType({256, 64}), "state"}});
    nlohmann::json request{{"module", text}, {"target", target}, {"chip", "sm_80"}, {"image_format", format}};
    EXPECT_EQ(compileModel(request.dump(), path), "");
    auto program = rt::Program::load(path);
    EXPECT_TRUE(program);
    return program ? program->manifest() : rt::Manifest();
  }
  void TearDown() override { fs::remove(path); }
};

} // namespace

TEST_F(Report, WorkAndTime) {
  rt::Manifest manifest = compile("cuda");
  auto kernels = rt::readKernelReports(path);
  ASSERT_TRUE(kernels) << kernels.error().message;
  ASSERT_EQ(kernels->size(), 2u); // the product, and what crosses chunks
  EXPECT_EQ((*kernels)[0].chip, "sm_80");
  EXPECT_EQ((*kernels)[0].threads, 128);
  EXPECT_THAT((*kernels)[0].kernel, testing::EndsWith(".device.launch0"));
  EXPECT_TRUE((*kernels)[0].globalLoads.contains(16));

  rt::GPU h200 = *rt::findGPU("h200");
  nlohmann::json report = rt::reportJson(manifest, *kernels, h200);
  nlohmann::json call = report["entry_points"]["main"][0];
  // Positions, coordinates of 2 bytes, weights, x, y; every block reads 16 features.
  int64_t bytes = 5 * 4 + 10 * 2 + 10 * 256 * 4 + 256 * 128 * 4 + 256 * 64 * 4;
  int64_t cached = bytes + (10 * 16 - 128) * 256 * 4;
  EXPECT_EQ(call["calls"], 1);
  EXPECT_EQ(call["flops"], 2 * 10 * 256 * 256);
  EXPECT_EQ(call["bytes"], bytes);
  EXPECT_EQ(call["cache_bytes"], cached);
  EXPECT_DOUBLE_EQ(call["modelled_seconds"], double(bytes) / 4.8e12);
  EXPECT_EQ(report["kernels"][0]["spill_store_bytes"], 0);

  std::string text = rt::reportText(manifest, *kernels, h200);
  EXPECT_THAT(text, HasSubstr("2 kernels for sm_80"));
  EXPECT_THAT(text, HasSubstr("main: at least 0.0 us"));
  EXPECT_THAT(text, HasSubstr("memory\n"));
}

// PTX alone: nobody has allocated registers yet.
TEST_F(Report, WithoutPtxas) {
  rt::Manifest manifest = compile("cuda", "isa");
  auto kernels = rt::readKernelReports(path);
  ASSERT_TRUE(kernels) << kernels.error().message;
  EXPECT_FALSE((*kernels)[0].assembled);
  EXPECT_TRUE((*kernels)[0].globalLoads.contains(16));
  EXPECT_THAT(rt::reportText(manifest, *kernels, *rt::findGPU("a100")), HasSubstr("?"));
}

TEST_F(Report, OtherTarget) {
  compile("cpu");
  auto kernels = rt::readKernelReports(path);
  ASSERT_FALSE(kernels);
  EXPECT_THAT(kernels.error().message, HasSubstr("has no report of GPU kernels; compile it with --target cuda"));
}
