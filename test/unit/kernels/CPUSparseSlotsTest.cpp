//===- CPUSparseSlotsTest.cpp - score, widen, to_dense, from_dense --------===//
#include "CPUSparse.h"

#include <bit>

using namespace smet;
using namespace smet::test;

namespace {

class CPUSparseSlots : public testing::TestWithParam<Target> {};

TEST_P(CPUSparseSlots, Score) {
  std::mt19937 rng(4);
  for (auto [rows, cols] : {std::pair{1, 1}, {16, 16}, {3, 5}, {1, 16}, {2, 2}}) {
    int64_t nnz = 77, size = rows * cols;
    auto values = randomVector<float>(nnz * size, rng);
    Kernel kernel(entry("smet.score", {{"w", tensorType({nnz, rows, cols})}}, {{"s", tensorType({nnz})}}), GetParam(),
                  2);
    kernel.set("w", values);
    kernel.run();
    Doubles expected(nnz);
    for (int64_t i = 0; i < nnz * size; ++i)
      expected[i / size] += std::abs(double(values[i]));
    EXPECT_LE(relativeError(kernel.get<float>("s"), expected), 1e-6) << rows << "x" << cols;
  }
}

TEST_P(CPUSparseSlots, ToAndFromDense) {
  std::mt19937 rng(5);
  for (const Case &c : {Case{64, 48, 16, 16, 1, 0.5}, Case{27, 55, 3, 5, 1, 0.4}, Case{40, 56, 1, 1, 1, 0.2}}) {
    Topology t = c.topology(rng);
    Operand values{"w", tensorType({t.nnz(), c.blockRows, c.blockCols})}, dense{"d", tensorType({c.rows, c.cols})};
    auto weights = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
    Floats expected(c.rows * c.cols);
    forWeights(t, [&](int64_t at, int64_t row, int64_t column) { expected[row * c.cols + column] = weights[at]; });

    Kernel toDense(entry("smet.to_dense", {{"t", t.type()}, values}, {dense}), GetParam(), 2);
    t.fill(toDense, "t");
    toDense.set("w", weights);
    toDense.set("d", Floats(c.rows * c.cols, 9.0f));
    toDense.run();
    EXPECT_EQ(toDense.get<float>("d"), expected) << c;

    Kernel fromDense(entry("smet.from_dense", {{"t", t.type()}, dense}, {values}), GetParam(), 2);
    t.fill(fromDense, "t");
    fromDense.set("d", expected);
    fromDense.run();
    EXPECT_EQ(fromDense.get<float>("w"), weights) << c;
  }
}

// Every bf16 is a number of f32.
TEST_P(CPUSparseSlots, Widen) {
  for (auto [rows, cols] : {std::pair{1, 1}, {16, 16}, {3, 5}}) {
    int64_t nnz = 77, size = nnz * rows * cols;
    Kernel kernel(
        entry("smet.widen", {{"w", tensorType({nnz, rows, cols}, "bf16")}}, {{"e", tensorType({nnz, rows, cols})}}),
        GetParam(), 2);
    std::vector<uint16_t> values(size);
    Floats expected(size);
    for (int64_t i = 0; i < size; ++i) {
      values[i] = uint16_t(0x3f00 + i % 256);
      expected[i] = std::bit_cast<float>(uint32_t(values[i]) << 16);
    }
    kernel.set("w", values);
    kernel.run();
    EXPECT_EQ(kernel.get<float>("e"), expected) << rows << "x" << cols;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CPUSparseSlots, testing::Values(Target::CPU, Target::GPU, Target::GPUChecked),
                         nameOf);

} // namespace
