//===- CPUSparseSlotsTest.cpp - score, to_dense, from_dense on the CPU ----===//
#include "CPUSparse.h"

using namespace smet;
using namespace smet::test;

namespace {

TEST(CPUSparseSlots, Score) {
  std::mt19937 rng(4);
  for (auto [rows, cols] : {std::pair{1, 1}, {16, 16}, {3, 5}, {1, 16}, {2, 2}}) {
    int64_t nnz = 77, size = rows * cols;
    auto values = randomVector<float>(nnz * size, rng);
    Kernel kernel(entry("smet.score", {{"w", tensorType({nnz, rows, cols})}}, {{"s", tensorType({nnz})}}), Target::CPU,
                  2);
    kernel.set("w", values);
    kernel.run();
    Doubles expected(nnz);
    for (int64_t i = 0; i < nnz * size; ++i)
      expected[i / size] += std::abs(double(values[i]));
    EXPECT_LE(relativeError(kernel.get<float>("s"), expected), 1e-6) << rows << "x" << cols;
  }
}

TEST(CPUSparseSlots, ToAndFromDense) {
  std::mt19937 rng(5);
  for (const Case &c : {Case{64, 48, 16, 16, 1, 0.5}, Case{27, 55, 3, 5, 1, 0.4}, Case{40, 56, 1, 1, 1, 0.2}}) {
    Topology t = c.topology(rng);
    Operand values{"w", tensorType({t.nnz(), c.blockRows, c.blockCols})}, dense{"d", tensorType({c.rows, c.cols})};
    auto weights = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
    Floats expected(c.rows * c.cols);
    forWeights(t, [&](int64_t at, int64_t row, int64_t column) { expected[row * c.cols + column] = weights[at]; });

    Kernel toDense(entry("smet.to_dense", {{"t", t.type()}, values}, {dense}), Target::CPU, 2);
    t.fill(toDense, "t");
    toDense.set("w", weights);
    toDense.set("d", Floats(c.rows * c.cols, 9.0f));
    toDense.run();
    EXPECT_EQ(toDense.get<float>("d"), expected) << c;

    Kernel fromDense(entry("smet.from_dense", {{"t", t.type()}, dense}, {values}), Target::CPU, 2);
    t.fill(fromDense, "t");
    fromDense.set("d", expected);
    fromDense.run();
    EXPECT_EQ(fromDense.get<float>("w"), weights) << c;
  }
}

} // namespace
