//===- SparseKernelChoiceTest.cpp - the cost model of sparse products -----===//
//
// What the model answers beside what was measured to be fastest: LLaMA layers of 60M to 350M parameters, 2,048 tokens,
// densities 0.1 to 0.5, one and two threads of a 2-core AVX-512 machine with second caches of 2 MiB. The kernels that
// lost by how much of their speed are named with each answer.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/CPU/SparseKernelChoice.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace smet;

namespace {

using Kernel = SpmmChoice::Kernel;

const CPUTarget zmm{512, 32}, ymm{256, 16};

SparseProblem layer(int64_t blockRows, int64_t blockCols, int64_t tokens = 2048) {
  return {/*rows=*/1376, /*cols=*/512, blockRows, blockCols, /*width=*/64, /*tiles=*/tokens / 64};
}

TEST(SparseKernelChoice, SquareBlocksTakeTilesOfAllTokenVectors) {
  // 8 rows x 2 vectors: 0.75 to 0.85 of the speed.
  SpmmChoice eight = chooseSpmm(layer(8, 8), false, zmm);
  EXPECT_EQ(eight.kernel, Kernel::Tiles);
  EXPECT_EQ(eight.rows, 4);
  EXPECT_EQ(eight.columns, 4);
  // 8 x 2: 0.9.
  SpmmChoice sixteen = chooseSpmm(layer(16, 16), false, zmm);
  EXPECT_EQ(sixteen.rows, 6);
  EXPECT_EQ(sixteen.columns, 4);
}

TEST(SparseKernelChoice, RunsAreScatteredForwardAndTiledBackward) {
  // Tiles: 0.6 of the speed; 8 inputs x 2 vectors: 0.8.
  SpmmChoice forward = chooseSpmm(layer(1, 16), false, zmm);
  EXPECT_EQ(forward.kernel, Kernel::Scatter);
  EXPECT_EQ(forward.features, 4);
  EXPECT_EQ(forward.columns, 4);
  EXPECT_EQ(forward.rows, 3);
  EXPECT_EQ(forward.panel, 256);
  EXPECT_EQ(chooseSpmm(layer(1, 16), true, zmm).kernel, Kernel::Tiles);
  EXPECT_EQ(chooseSpmm(layer(16, 1), true, zmm).kernel, Kernel::Scatter);
}

TEST(SparseKernelChoice, SinglesTakePanelsOfTwoTokenTiles) {
  // Tiles: 0.6 of the speed at density 0.5 and 0.95 at 0.1; one token tile: 0.9.
  SpmmChoice choice = chooseSpmm(layer(1, 1), false, zmm);
  EXPECT_EQ(choice.kernel, Kernel::Panels);
  EXPECT_EQ(choice.panel, 64);
  EXPECT_EQ(choice.sparsePanels, 2);
  EXPECT_EQ(choice.tiles, 2);
  EXPECT_EQ(choice.columns, 4);
}

TEST(SparseKernelChoice, CandidatesHaveTheModelsKernelWithOtherPanels) {
  SpmmChoice model = chooseSpmm(layer(1, 1), false, zmm);
  std::vector<SpmmChoice> candidates = spmmCandidates(layer(1, 1), false, zmm);
  for (int64_t panel : {32, 64, 128}) {
    SpmmChoice choice = model;
    choice.panel = panel;
    EXPECT_EQ(std::count(candidates.begin(), candidates.end(), choice), 1) << panel;
  }
}

TEST(SparseKernelChoice, FewTokensTakeTiles) {
  for (auto [rows, cols] : {std::pair{1, 16}, {1, 1}})
    EXPECT_EQ(chooseSpmm(layer(rows, cols, 128), false, zmm).kernel, Kernel::Tiles);
}

TEST(SparseKernelChoice, GradientsGatherTheSideWithFewerFeatures) {
  // Rows gathered in the down projection of 350M: 0.7 of the speed.
  EXPECT_FALSE(chooseSddmm({1376, 512, 8, 8, 64, 32}, zmm).byColumns);
  EXPECT_TRUE(chooseSddmm({512, 1376, 8, 8, 64, 32}, zmm).byColumns);
  EXPECT_TRUE(chooseSddmm({512, 1376, 1, 16, 64, 32}, zmm).byColumns);
  EXPECT_FALSE(chooseSddmm({512, 1376, 16, 1, 64, 32}, zmm).byColumns);
}

TEST(SparseKernelChoice, ChunksFitTheSecondCache) {
  // 64 tokens a chunk for runs: 0.75 of the speed; 256 for singles: 0.6 where 2,736 features are
  // gathered.
  EXPECT_EQ(chooseSddmm({2736, 1024, 1, 16, 64, 32}, zmm).chunkTiles, 4);
  EXPECT_EQ(chooseSddmm({2736, 1024, 1, 1, 64, 32}, zmm).chunkTiles, 2);
  for (int64_t cols : {512, 1024, 4096})
    EXPECT_LE(chooseSddmm({8192, cols, 16, 16, 64, 32}, zmm).chunkTiles * 64 * cols * 4, 1 << 20);
}

/// Accumulators and what is held beside them fit the registers, whatever the shape.
TEST(SparseKernelChoice, RegistersSuffice) {
  for (const CPUTarget &target : {zmm, ymm, CPUTarget{128, 16}})
    for (int64_t rows : {1, 2, 3, 8, 16, 32})
      for (int64_t cols : {1, 2, 5, 8, 16, 32})
        for (bool transpose : {false, true}) {
          SpmmChoice c = chooseSpmm({960, 960, rows, cols, 64, 32}, transpose, target);
          int64_t held = c.kernel == Kernel::Scatter  ? (c.features + c.rows) * c.columns
                         : c.kernel == Kernel::Panels ? c.columns * c.tiles
                                                      : (c.rows * c.chains + 1) * c.columns;
          EXPECT_LT(held, target.numRegisters) << rows << "x" << cols << " " << target.vectorBits;
          SddmmChoice d = chooseSddmm({960, 960, rows, cols, 64, 32}, target);
          if (rows * cols > 1)
            EXPECT_LT(d.width * (d.height + 1), target.numRegisters) << rows << "x" << cols;
        }
}

/// Singles hold a row of dy and the sums of a group of slots.
TEST(SparseKernelChoice, RegistersSufficeForSingles) {
  for (const CPUTarget &target : {zmm, ymm}) {
    SddmmChoice choice = chooseSddmm(layer(1, 1), target);
    EXPECT_LT(choice.width + choice.chunkTiles * 64 * 32 / target.vectorBits, target.numRegisters);
  }
}

} // namespace
