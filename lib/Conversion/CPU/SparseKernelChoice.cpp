//===- SparseKernelChoice.cpp - how sparse products are tiled -------------===//
#include "SparseKernelChoice.h"

#include <algorithm>

using namespace smet;

/// Bytes of activations that a chunk may occupy: half of a second cache of 2 MiB.
static constexpr int64_t chunkBytes = 1 << 20;
/// Longer chunks reduce fewer sums over lanes; beyond this, the rows of two blocks leave the first cache.
static constexpr int64_t minChunkTokens = 64, maxChunkTokens = 256;
/// Items of a chunk: enough for 64 threads to balance.
static constexpr int64_t sddmmItems = 64;

SddmmChoice smet::chooseSddmm(const SparseProblem &problem, const CPUTarget &target) {
  bool wide = problem.blockRows == 1 && problem.blockCols > 1, tall = problem.blockRows > 1 && problem.blockCols == 1;
  bool single = problem.blockRows == 1 && problem.blockCols == 1;
  SddmmChoice choice;
  // A row or column that is a whole block is used by all slots of its segment. Other blocks gather the side with fewer
  // features, which then stays in cache over a chunk; the other one is read once a chunk.
  choice.byColumns = wide || (!tall && !single && problem.cols > problem.rows);
  choice.width = 4;
  choice.height = target.numRegisters >= 32 ? 4 : 2;
  int64_t gathered = choice.byColumns ? problem.rows : problem.cols;
  int64_t tokens = std::clamp<int64_t>(chunkBytes / (4 * gathered), minChunkTokens, maxChunkTokens);
  if (single) // A row of dy is held in half of the registers.
    tokens = std::min(tokens, target.numRegisters / 4 * target.vectorBits / 32);
  choice.chunkTiles = std::max<int64_t>(tokens / problem.width, 1);
  choice.items = sddmmItems;
  return choice;
}
