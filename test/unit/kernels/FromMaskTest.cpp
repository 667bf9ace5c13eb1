//===- FromMaskTest.cpp - a pruned matrix is imported, on both targets ----===//
#include "CPUSparse.h"

#include <gmock/gmock.h>

using namespace smet;
using namespace smet::test;

namespace {

/// An entry point that takes topology and values from a mask and a matrix.
std::string importing(const Topology &t) {
  std::string mask = tensorType({t.rows, t.cols}, "i8"), dense = tensorType({t.rows, t.cols});
  std::string values = tensorType({t.nnz(), t.blockRows, t.blockCols});
  auto argument = [](std::string name, const std::string &type, std::string role, std::string writable) {
    return "%" + name + ": " + type + " {smet.name = \"" + name + "\", smet.role = \"" + role +
           "\", bufferization.writable = " + writable + "}";
  };
  return "func.func @main(" + argument("mask", mask, "input", "false") + ", " +
         argument("dense", dense, "input", "false") + ", " + argument("t", t.type(), "topology", "true") + ", " +
         argument("w", values, "output", "true") + ") -> (" + t.type() + " {smet.name = \"t\"}, " + values +
         " {smet.name = \"w\"}) {\n  %new = smet.from_mask %mask into %t : " + mask + ", " + t.type() +
         "\n  %r = smet.from_dense ins(%new, %dense : " + t.type() + ", " + dense + ") outs(%w : " + values + ") -> " +
         values + "\n  return %new, %r : " + t.type() + ", " + values + "\n}\n";
}

TEST(FromMask, ImportsAPrunedMatrix) {
  std::mt19937 rng(8);
  for (Target target : {Target::Reference, Target::CPU})
    for (const Case &c : {Case{64, 48, 16, 16, 1, 0.5}, Case{27, 55, 3, 5, 1, 0.4}, Case{40, 56, 1, 1, 1, 0.2}}) {
      Topology t = c.topology(rng);
      auto weights = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
      Floats dense(c.rows * c.cols, 9.0f);
      std::vector<int8_t> mask(c.rows * c.cols);
      forWeights(t, [&](int64_t at, int64_t row, int64_t column) {
        dense[row * c.cols + column] = weights[at];
        // One element marks a block.
        mask[row * c.cols + column] = row % c.blockRows == 0 && column % c.blockCols == c.blockCols - 1;
      });
      Kernel kernel(importing(t), target, 2);
      kernel.set("mask", mask);
      kernel.set("dense", dense);
      kernel.run();
      EXPECT_EQ(kernel.get<int32_t>("t.positions"), t.positions) << c;
      auto coordinates = kernel.get<uint16_t>("t.coordinates");
      EXPECT_EQ(std::vector<int32_t>(coordinates.begin(), coordinates.end()), t.coordinates) << c;
      EXPECT_EQ(kernel.get<int32_t>("t.t_perm"), t.tPerm) << c;
      EXPECT_EQ(kernel.get<float>("w"), weights) << c;
    }
}

} // namespace
