//===- GPUTensorCoreTest.cpp - products of blocks in bf16 -----------------===//
//
// SpMM and SDDMM on the emulator's tensor cores against plain loops over the same bf16, and what they cost.
//
//===----------------------------------------------------------------------===//
#include "CPUSparse.h"
#include "Halves.h"
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;

namespace {

struct GPUTensorCores : testing::TestWithParam<Case> {
  const Case &c = GetParam();
  std::mt19937 rng{1};
  Topology t = c.topology(rng);
  int64_t size = t.nnz() * c.blockRows * c.blockCols;

  std::string values(const std::string &type) const { return tensorType({t.nnz(), c.blockRows, c.blockCols}, type); }
  std::string activation(int64_t features) const { return tensorType({c.tokens, features}, "bf16"); }
  /// Numbers that bf16 has.
  Floats random(int64_t count) { return toFloats(toBF16(randomVector<float>(count, rng))); }
  Halves packed(const Floats &x) const {
    return toBF16(pack(x, c.tokens, int64_t(x.size()) / c.tokens, wholeWidth(c.tokens)));
  }

  Floats spmm(Target target, const Floats &w, const Floats &x, const Floats &y, bool transpose, bool accumulate) {
    Kernel kernel(
        entry("smet.spmm",
              {{"t", t.type()}, {"w", values("bf16")}, {"x", activation(int64_t(x.size()) / c.tokens), "state"}},
              {{"y", activation(int64_t(y.size()) / c.tokens), "state"}}, spmmAttributes(transpose, accumulate)),
        target, 2);
    t.fill(kernel, "t");
    kernel.set("w", toBF16(w));
    kernel.set("x", packed(x));
    kernel.set("y", packed(y));
    EXPECT_TRUE(kernel.run());
    return unpack(toFloats(kernel.get<uint16_t>("y")), c.tokens, int64_t(y.size()) / c.tokens, wholeWidth(c.tokens));
  }

  Floats sddmm(Target target, const Floats &x, const Floats &dy, const Floats &dw, bool accumulate) {
    Kernel kernel(entry("smet.sddmm",
                        {{"t", t.type()}, {"x", activation(c.cols), "state"}, {"dy", activation(c.rows), "state"}},
                        {{"dw", values("f32")}}, accumulate ? "{accumulate}" : "{}"),
                  target, 2);
    t.fill(kernel, "t");
    kernel.set("x", packed(x));
    kernel.set("dy", packed(dy));
    kernel.set("dw", dw);
    EXPECT_TRUE(kernel.run());
    return kernel.get<float>("dw");
  }
};

/// Sums in f32 are rounded to bf16 once, and those of rows that cross chunks of entries a second time, on the way.
void expectSums(const Floats &found, const Doubles &expected) {
  ASSERT_EQ(found.size(), expected.size());
  double scale = 0;
  for (double value : expected)
    scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], std::abs(expected[i]) / 256 + scale / 256) << i;
}

/// Blocks of every shape; tokens that fill strips of 16 to 128; rows without entries, and with all; several entries a
/// chunk, and long rows.
std::vector<Case> blocks() {
  return {{64, 96, 16, 16, 256, 0.3},   {64, 48, 16, 16, 1, 0.5},    {512, 320, 16, 16, 33, 0.3},
          {48, 64, 16, 32, 150, 0.4},   {64, 48, 32, 16, 70, 0.5},   {96, 128, 32, 32, 100, 0.5},
          {192, 128, 64, 64, 130, 0.5}, {128, 384, 128, 128, 70, 1}, {96, 144, 48, 48, 40, 0.5},
          {48, 2048, 16, 16, 64, 0.05}, {320, 512, 32, 64, 16, 0.6}, {64, 160, 64, 16, 260, 0.5}};
}

} // namespace

TEST_P(GPUTensorCores, Spmm) {
  Floats w = random(size);
  for (bool transpose : {false, true}) {
    Floats x = random(c.tokens * (transpose ? c.rows : c.cols)), y = random(c.tokens * (transpose ? c.cols : c.rows));
    Doubles once = plainSpmm(t, w, x, Doubles(y.size()), c.tokens, transpose);
    Doubles added = plainSpmm(t, w, x, Doubles(y.begin(), y.end()), c.tokens, transpose);
    expectSums(spmm(Target::GPU, w, x, y, transpose, false), once);
    expectSums(spmm(Target::GPU, w, x, y, transpose, true), added);
    expectSums(spmm(Target::GPUChecked, w, x, y, transpose, true), added);
  }
}

TEST_P(GPUTensorCores, Sddmm) {
  Floats x = random(c.tokens * c.cols), dy = random(c.tokens * c.rows), old = random(size);
  Doubles expected = plainSddmm(t, x, dy, c.tokens);
  EXPECT_LE(relativeError(sddmm(Target::GPU, x, dy, old, false), expected), 2e-6);
  EXPECT_LE(relativeError(sddmm(Target::GPUChecked, x, dy, old, false), expected), 2e-6);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] += old[i];
  EXPECT_LE(relativeError(sddmm(Target::GPU, x, dy, old, true), expected), 2e-6);
}

// Gradients that go straight into the optimizer are those that go to memory, bit by bit, and weights are rounded alike.
TEST_P(GPUTensorCores, FusedIsSddmmThenStep) {
  plain::AdamW p{0.9, 0.999, 1e-8, 0.1, 10, true};
  Floats x = random(c.tokens * c.cols), dy = random(c.tokens * c.rows), w = random(size), m = random(size),
         v = random(size);
  for (float &value : v)
    value *= value;
  std::vector<uint16_t> age(t.nnz());
  for (uint16_t &a : age)
    a = uint16_t(rng() % 50);
  std::vector<Operand> state = {
      {"w", values("bf16")}, {"m", values("f32")}, {"v", values("f32")}, {"age", tensorType({t.nnz()}, "i16")}};
  auto run = [&](Kernel kernel, auto setInputs) {
    t.fill(kernel, "t");
    kernel.set("w", toBF16(w));
    kernel.set("m", m);
    kernel.set("v", v);
    kernel.set("age", age);
    kernel.set("lr", Floats{0.01f});
    kernel.set("step", std::vector<int64_t>{50});
    setInputs(kernel);
    EXPECT_TRUE(kernel.run());
    return std::tuple(kernel.get<uint16_t>("w"), kernel.get<float>("m"), kernel.get<float>("v"),
                      kernel.get<uint16_t>("age"));
  };
  Floats gradient = sddmm(Target::GPU, x, dy, Floats(size), false);
  auto expected =
      run(Kernel(entry("smet.adam_step",
                       {{"t", t.type()}, {"g", values("f32")}, {"lr", "tensor<f32>"}, {"step", "tensor<i64>"}}, state,
                       p.attribute()),
                 Target::GPU, 2),
          [&](Kernel &kernel) { kernel.set("g", gradient); });
  for (Target target : {Target::GPU, Target::GPUChecked})
    EXPECT_EQ(run(Kernel(entry("smet.sddmm_adam",
                               {{"t", t.type()},
                                {"x", activation(c.cols), "state"},
                                {"dy", activation(c.rows), "state"},
                                {"lr", "tensor<f32>"},
                                {"step", "tensor<i64>"}},
                               state, p.attribute()),
                         target, 2),
                  [&](Kernel &kernel) {
                    kernel.set("x", packed(x));
                    kernel.set("dy", packed(dy));
                  }),
              expected);
}

INSTANTIATE_TEST_SUITE_P(Blocks, GPUTensorCores, testing::ValuesIn(blocks()));
