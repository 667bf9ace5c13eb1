//===- HarnessTest.cpp - the road from an op to a running program ---------===//
#include "KernelHarness.h"

using namespace smet;
using namespace smet::test;

// No kernel is needed to test the road: bufferization in place, the arena, an entry point, an early return.
TEST(Harness, ChecksForFiniteness) {
  Kernel kernel(R"(
    func.func @main(%x: tensor<f32> {smet.name = "x", smet.role = "output", bufferization.writable = true})
        -> (tensor<f32> {smet.name = "x"}) {
      smet.check_finite %x : tensor<f32>
      return %x : tensor<f32>
    })",
                Target::CPU);
  ASSERT_TRUE(kernel.valid());
  kernel.set<float>("x", {2.5f});
  EXPECT_TRUE(kernel.run());
  EXPECT_EQ(kernel.get<float>("x"), std::vector<float>{2.5f});
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    kernel.set<float>("x", {bad});
    EXPECT_FALSE(kernel.run()) << bad;
  }
}
