//===- GPUSparseProductTest.cpp - SpMM and SDDMM on the emulated GPU ------===//
//
// The shapes that the CPU's kernels are tested with, against the same plain loops; with the emulator's checks, threads
// in an order drawn at random.
//
//===----------------------------------------------------------------------===//
#include "CPUSparse.h"

using namespace smet;
using namespace smet::test;

namespace {

struct GPUSparseProduct : testing::TestWithParam<Case> {
  const Case &c = GetParam();
  std::mt19937 rng{1};
  Topology t = c.topology(rng);
  std::string values = tensorType({t.nnz(), c.blockRows, c.blockCols});

  Floats packed(const Floats &x) const { return pack(x, c.tokens, int64_t(x.size()) / c.tokens, wholeWidth(c.tokens)); }
  Floats random(int64_t size) { return randomVector<float>(size, rng); }

  Floats spmm(Target target, const Floats &w, const Floats &x, const Floats &y, bool transpose, bool accumulate) {
    Kernel kernel(
        entry("smet.spmm", {{"t", t.type()}, {"w", values}, {"x", c.activation(int64_t(x.size()) / c.tokens), "state"}},
              {{"y", c.activation(int64_t(y.size()) / c.tokens), "state"}}, spmmAttributes(transpose, accumulate)),
        target, 2);
    t.fill(kernel, "t");
    kernel.set("w", w);
    kernel.set("x", packed(x));
    kernel.set("y", packed(y));
    EXPECT_TRUE(kernel.run());
    return unpack(kernel.get<float>("y"), c.tokens, int64_t(y.size()) / c.tokens, wholeWidth(c.tokens));
  }

  Floats sddmm(Target target, const Floats &x, const Floats &dy, const Floats &dw, bool accumulate) {
    Kernel kernel(entry("smet.sddmm",
                        {{"t", t.type()}, {"x", c.activation(c.cols), "state"}, {"dy", c.activation(c.rows), "state"}},
                        {{"dw", values}}, accumulate ? "{accumulate}" : "{}"),
                  target, 2);
    t.fill(kernel, "t");
    kernel.set("x", packed(x));
    kernel.set("dy", packed(dy));
    kernel.set("dw", dw);
    EXPECT_TRUE(kernel.run());
    return kernel.get<float>("dw");
  }
};

} // namespace

TEST_P(GPUSparseProduct, Spmm) {
  Floats w = random(t.nnz() * c.blockRows * c.blockCols);
  for (bool transpose : {false, true}) {
    Floats x = random(c.tokens * (transpose ? c.rows : c.cols)), y = random(c.tokens * (transpose ? c.cols : c.rows));
    Doubles once = plainSpmm(t, w, x, Doubles(y.size()), c.tokens, transpose);
    Doubles added = plainSpmm(t, w, x, Doubles(y.begin(), y.end()), c.tokens, transpose);
    EXPECT_LE(relativeError(spmm(Target::GPU, w, x, y, transpose, false), once), 2e-6);
    EXPECT_LE(relativeError(spmm(Target::GPU, w, x, y, transpose, true), added), 2e-6);
    EXPECT_LE(relativeError(spmm(Target::GPUChecked, w, x, y, transpose, true), added), 2e-6);
  }
}

TEST_P(GPUSparseProduct, Sddmm) {
  Floats x = random(c.tokens * c.cols), dy = random(c.tokens * c.rows),
         old = random(t.nnz() * c.blockRows * c.blockCols);
  Doubles expected = plainSddmm(t, x, dy, c.tokens);
  EXPECT_LE(relativeError(sddmm(Target::GPU, x, dy, old, false), expected), 2e-6);
  EXPECT_LE(relativeError(sddmm(Target::GPUChecked, x, dy, old, false), expected), 2e-6);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] += old[i];
  EXPECT_LE(relativeError(sddmm(Target::GPU, x, dy, old, true), expected), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Blocks, GPUSparseProduct, testing::ValuesIn(cases()));
