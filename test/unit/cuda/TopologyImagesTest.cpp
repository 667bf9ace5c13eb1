//===- TopologyImagesTest.cpp - topology updates as images for GPUs -------===//
//
// ptxas takes every kernel, and none spills.
//
//===----------------------------------------------------------------------===//
#include "Images.h"

#include "test/unit/kernels/KernelHarness.h"

#include <set>

using namespace smet;
using namespace smet::test;

namespace {

struct TopologyImages : testing::TestWithParam<std::string> {
  /// The updates of a layer of 4 x 70,000 blocks, whose columns have 17 bits.
  std::string update() const {
    std::string t = "!smet.topology<4x140000, block = [1, 2], nnz = 9000>";
    auto argument = [](const std::string &name, const std::string &type, const std::string &role, bool isWritten) {
      return "%" + name + ": " + type + " {smet.name = \"" + name + "\", smet.role = \"" + role +
             "\", bufferization.writable = " + (isWritten ? "true}" : "false}");
    };
    return "func.func @update_topology(" + argument("score", "tensor<9000xf32>", "input", false) + ", " +
           argument("rate", "tensor<f64>", "input", false) + ", " + argument("seed", "tensor<i64>", "input", false) +
           ", " + argument("update", "tensor<i64>", "input", false) + ", " + argument("t", t, "topology", true) + ", " +
           argument("w", "tensor<9000x1x2xbf16>", "state", true) + ") -> (" + t +
           " {smet.name = \"t\"}, tensor<9000x1x2xbf16> {smet.name = \"w\"}) {\n"
           "  %keep = smet.prune %t, %score, %rate : " +
           t +
           ", tensor<9000xf32>, tensor<f64> -> tensor<9000xi8>\n"
           "  %grown = smet.grow <random> %t, %keep, %seed, %update {layer = 3} : " +
           t +
           ", tensor<9000xi8>, tensor<i64>, tensor<i64> -> tensor<9000xi32>\n"
           "  %t1, %map = smet.update_topology %t, %keep, %grown : " +
           t +
           ", tensor<9000xi8>, tensor<9000xi32> -> tensor<9000xi32>\n"
           "  %w1 = smet.remap %map, %w : tensor<9000xi32>, tensor<9000x1x2xbf16>\n"
           "  return %t1, %w1 : " +
           t + ", tensor<9000x1x2xbf16>\n}\n";
  }
};

} // namespace

TEST_P(TopologyImages, NoneSpills) {
  auto kernels = compileImages({{"module", update()}}, GetParam());
  expectNoSpills(kernels);
  std::set<std::string> routines;
  for (const rt::KernelReport &k : kernels)
    routines.insert(k.callee.substr(0, k.callee.rfind('_')));
  EXPECT_EQ(routines, (std::set<std::string>{"k_prune", "k_grow_random", "k_update_topology", "k_remap"}));
}

INSTANTIATE_TEST_SUITE_P(Chips, TopologyImages, testing::Values("sm_80", "sm_90a"));
