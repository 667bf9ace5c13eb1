//===- KernelReportTest.cpp - occupancy and modelled times ----------------===//
#include "runtime/report/KernelReport.h"

#include <gtest/gtest.h>

using namespace smet::rt;

static KernelReport kernel(int64_t threads, int64_t registers, int64_t sharedBytes) {
  KernelReport k;
  k.threads = threads;
  k.assembled = true;
  k.registers = registers;
  k.sharedBytes = sharedBytes;
  return k;
}

// What NVIDIA's occupancy calculator gives.
TEST(KernelReport, Occupancy) {
  GPU a100 = *findGPU("a100"), h100 = *findGPU("h100");
  EXPECT_DOUBLE_EQ(*occupancy(kernel(256, 32, 0), a100), 1);
  EXPECT_DOUBLE_EQ(*occupancy(kernel(128, 40, 0), a100), 48. / 64);        // 12 blocks: 51 warps have registers
  EXPECT_DOUBLE_EQ(*occupancy(kernel(1024, 33, 0), a100), 32. / 64);       // one block: two need 40 x 2048
  EXPECT_DOUBLE_EQ(*occupancy(kernel(32, 16, 0), a100), 32. / 64);         // 32 blocks are the limit
  EXPECT_DOUBLE_EQ(*occupancy(kernel(256, 32, 40 << 10), a100), 32. / 64); // 4 x (40 + 1) KiB of 164
  EXPECT_DOUBLE_EQ(*occupancy(kernel(256, 32, 40 << 10), h100), 40. / 64); // 5 of 228
  EXPECT_FALSE(occupancy(kernel(0, 32, 0), a100));
  KernelReport isa = kernel(128, 0, 0);
  isa.assembled = false;
  EXPECT_FALSE(occupancy(isa, a100));
}

TEST(KernelReport, Cards) {
  EXPECT_EQ(gpuForChip("sm_90a").chip, "sm_90a");
  EXPECT_EQ(gpuForChip("sm_80").name, "a100");
  EXPECT_FALSE(findGPU("v100"));
  EXPECT_EQ(knownGPUs(), "a100, h100, h200");
}

// 4.8 GB take an H200 a millisecond to read, 989 GFLOP one on its tensor cores.
TEST(KernelReport, Time) {
  GPU h200 = *findGPU("h200");
  KernelReport simt = kernel(128, 32, 0), mma = simt;
  mma.mma = 4;
  CallInfo reads{"k", "nn.add", 1000, 4'800'000'000, 4'800'000'000};
  EXPECT_NEAR(modelTime(reads, {&simt}, h200).seconds(), 1e-3, 1e-9);
  EXPECT_EQ(modelTime(reads, {&simt}, h200).bound(), "memory");
  CallInfo product{"k", "nn.linear", 989'000'000'000, 1000, 1000};
  EXPECT_NEAR(modelTime(product, {&mma}, h200).seconds(), 1e-3, 1e-9);
  EXPECT_NEAR(modelTime(product, {&simt, &simt}, h200).seconds(), 989. / 66.9e3, 1e-6);
  EXPECT_EQ(modelTime(product, {&mma}, h200).bound(), "compute");
  CallInfo sparse{"k", "smet.spmm", 1000, 1000, 1'000'000'000};
  EXPECT_EQ(modelTime(sparse, {&simt}, h200).bound(), "L2");
  mma.asyncCopies[16] = 2; // twice through 132 x 128 bytes a clock are faster than once through 5120
  EXPECT_EQ(modelTime(sparse, {&mma}, h200).bound(), "L2");
  EXPECT_NEAR(modelTime(sparse, {&mma}, h200).shared, 2e9 / (132 * 128 * 1.83e9), 1e-12);
}
