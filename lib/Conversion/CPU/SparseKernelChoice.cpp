//===- SparseKernelChoice.cpp - how sparse products are tiled -------------===//
#include "SparseKernelChoice.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace smet;
using llvm::divideCeil;

int64_t smet::lanesFor(const CPUTarget &target, int64_t width) { return std::gcd(target.vectorBits / 32, width); }

int64_t smet::vectorsOf(const SparseProblem &problem, const CPUTarget &target) {
  return problem.width / lanesFor(target, problem.width);
}

//===----------------------------------------------------------------------===//
// SpMM
//===----------------------------------------------------------------------===//

/// Items that Tiles is split into at least, where the shape allows: enough for 64 threads to balance.
static constexpr int64_t tilesItems = 256;
/// The same for Panels, whose items each load the panels again.
static constexpr int64_t panelsItems = 64;
/// The same where activations are stored in bf16 and items copy what they read.
static constexpr int64_t copyingItems = 8;
/// Bytes of a copied token tile at most: it lies on a thread's stack.
static constexpr int64_t maxCopyBytes = 1 << 20;
/// Accumulators needed to keep two FMA units busy over a latency of four cycles.
static constexpr int64_t minAccumulators = 8;
/// Tokens from which finding panels pays.
static constexpr int64_t minPanelTokens = 256;
/// Outputs of a panel of Scatter: 64 KiB with 64 tokens.
static constexpr int64_t scatterPanel = 256;
/// Inputs of a panel of Panels: 32 KiB with 128 tokens. With few entries a panel, loading and storing the sums costs
/// more than the second cache does.
static constexpr int64_t inputPanel = 64, sparsePanels = 2;

bool smet::copiesTiles(const SparseProblem &problem) {
  return problem.bf16 && problem.tiles * problem.width >= minPanelTokens &&
         4 * problem.width * std::max(problem.rows, problem.cols) <= maxCopyBytes;
}

/// The tile with the fewest loads a block among those that fit: rows * columns accumulators, `columns` x vectors and
/// one broadcast weight.
static SpmmChoice chooseTiles(const SparseProblem &problem, int64_t outer, int64_t inner, const CPUTarget &target) {
  int64_t vectors = vectorsOf(problem, target), fewest = std::numeric_limits<int64_t>::max();
  SpmmChoice best;
  for (int64_t columns = 1; columns <= vectors; ++columns) {
    int64_t maxRows = (target.numRegisters - 1) / columns - 1;
    if (vectors % columns || maxRows < 1)
      continue;
    int64_t tiles = divideCeil(outer, maxRows), loads = (outer + tiles * columns) * (vectors / columns);
    if (loads < fewest) {
      fewest = loads;
      best.rows = divideCeil(outer, tiles);
      best.columns = columns;
    }
  }
  best.chains = std::min<int64_t>(divideCeil(minAccumulators, best.rows * best.columns), 4);
  if (inner > 1)
    best.chains = std::min(best.chains, inner);
  best.pieces = divideCeil(copiesTiles(problem) ? copyingItems : tilesItems, std::max<int64_t>(problem.tiles, 1));
  return best;
}

/// Four inputs of as many vectors as leave room for the sums of three outputs: a weight is broadcast once for all
/// vectors, an output loaded and stored once for four inputs.
static SpmmChoice chooseScatter(const SparseProblem &problem, int64_t inner, const CPUTarget &target) {
  SpmmChoice choice{.kernel = SpmmChoice::Kernel::Scatter};
  choice.columns = std::gcd(vectorsOf(problem, target), target.numRegisters / 8);
  choice.features = std::min<int64_t>(inner, 4);
  choice.rows = std::clamp<int64_t>((target.numRegisters - 2) / choice.columns - choice.features, 1, 4);
  choice.panel = scatterPanel;
  return choice;
}

/// Half of the registers hold sums, of two token tiles if they are left over by one: an index and a weight are loaded
/// once for both.
static SpmmChoice choosePanels(const SparseProblem &problem, const CPUTarget &target) {
  SpmmChoice choice{.kernel = SpmmChoice::Kernel::Panels};
  int64_t vectors = vectorsOf(problem, target), sums = std::max<int64_t>(target.numRegisters / 4, 4);
  choice.columns = std::gcd(vectors, sums);
  choice.tiles = choice.columns == vectors && 2 * vectors <= sums && problem.tiles > 1 ? 2 : 1;
  choice.panel = inputPanel;
  choice.sparsePanels = sparsePanels;
  int64_t items = problem.bf16 ? copyingItems : panelsItems;
  choice.pieces = std::max<int64_t>(items * choice.tiles / problem.tiles, 1);
  return choice;
}

SpmmChoice smet::chooseSpmm(const SparseProblem &problem, bool transpose, const CPUTarget &target) {
  int64_t outer = transpose ? problem.blockCols : problem.blockRows;
  int64_t inner = transpose ? problem.blockRows : problem.blockCols;
  if (outer > 1 || problem.tiles * problem.width < minPanelTokens)
    return chooseTiles(problem, outer, inner, target);
  return inner > 1 ? chooseScatter(problem, inner, target) : choosePanels(problem, target);
}

//===----------------------------------------------------------------------===//
// SDDMM
//===----------------------------------------------------------------------===//

/// Bytes of activations that a chunk may occupy: half of a second cache of 2 MiB.
static constexpr int64_t chunkBytes = 1 << 20;
/// Longer chunks reduce fewer sums over lanes; beyond this, the rows of two blocks leave the first cache.
static constexpr int64_t minChunkTokens = 64, maxChunkTokens = 256;
/// Items of a chunk: enough for 64 threads to balance.
static constexpr int64_t sddmmItems = 64;
/// Inputs of which 128 tokens are 256 KiB.
static constexpr int64_t fewInputs = 512;

SddmmChoice smet::chooseSddmm(const SparseProblem &problem, const CPUTarget &target) {
  bool wide = problem.blockRows == 1 && problem.blockCols > 1, tall = problem.blockRows > 1 && problem.blockCols == 1;
  bool single = problem.blockRows == 1 && problem.blockCols == 1;
  SddmmChoice choice;
  // A row or column that is a whole block is used by all slots of its segment. Other blocks gather the side with fewer
  // features, which then stays in cache over a chunk; the other one is read once a chunk.
  choice.byColumns = wide || (!tall && !single && problem.cols > problem.rows);
  // Tiles of 4 x 4 sums, of 4 x 2 with 16 registers; of blocks of one weight, slots that share a row of dy in
  // registers.
  choice.width = single ? target.numRegisters / 4 : 4;
  choice.height = single ? 1 : target.numRegisters >= 32 ? 4 : 2;
  int64_t gathered = choice.byColumns ? problem.rows : problem.cols;
  int64_t tokens = std::clamp<int64_t>(chunkBytes / (4 * gathered), minChunkTokens, maxChunkTokens);
  if (wide || tall) // A gathered row serves a whole segment's side: it may come from farther.
    tokens = maxChunkTokens;
  if (single) // A row of dy is held in a quarter of the registers, the sums of eight slots in another.
    tokens = std::min(tokens, target.numRegisters / 4 * target.vectorBits / 32);
  choice.chunkTiles = std::max<int64_t>(tokens / problem.width, 1);
  // Whole panels of a gradient cost the same at any density; dot products come from a nearer cache with few inputs.
  if (single)
    choice.densePercent = problem.cols <= fewInputs ? 45 : 33;
  choice.items = sddmmItems;
  return choice;
}
