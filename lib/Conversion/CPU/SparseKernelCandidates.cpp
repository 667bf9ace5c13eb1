//===- SparseKernelCandidates.cpp - what can be chosen instead ------------===//
//
// Which choices are possible, and a grid of those that may be the fastest somewhere. Numbers that only divide work
// among threads stay as the model has them.
//
//===----------------------------------------------------------------------===//
#include "SparseKernelChoice.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace smet;
using Kernel = SpmmChoice::Kernel;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// What `vectors` that live at once leave of the registers must hold a broadcast weight.
static std::string checkRegisters(int64_t vectors, const CPUTarget &target) {
  if (vectors < target.numRegisters)
    return "";
  return "it holds " + std::to_string(vectors) + " vectors at once, of " + std::to_string(target.numRegisters) +
         " registers";
}

std::string smet::checkSpmm(const SpmmChoice &c, const SparseProblem &problem, bool transpose,
                            const CPUTarget &target) {
  int64_t outer = transpose ? problem.blockCols : problem.blockRows;
  int64_t inner = transpose ? problem.blockRows : problem.blockCols;
  if (std::string wrong = checkNumbers(c); !wrong.empty())
    return wrong;
  if (int64_t vectors = vectorsOf(problem, target); vectors % c.columns)
    return "columns must divide the " + std::to_string(vectors) + " vectors of a token tile";
  switch (c.kernel) {
  case Kernel::Tiles:
    if (c.rows > outer)
      return "rows must be at most the block's " + std::to_string(outer) + " outputs";
    if (inner > 1 && c.chains > inner)
      return "chains must be at most the block's " + std::to_string(inner) + " inputs";
    return checkRegisters((c.rows * c.chains + 1) * c.columns, target);
  case Kernel::Scatter:
    if (outer > 1)
      return "scatter is for blocks with one output";
    if (c.features > inner)
      return "features must be at most the block's " + std::to_string(inner) + " inputs";
    return checkRegisters((c.features + c.rows) * c.columns, target);
  case Kernel::Panels:
    if (outer > 1 || inner > 1)
      return "panels is for blocks of one weight";
    if (c.tiles > problem.tiles)
      return "tiles must be at most the " + std::to_string(problem.tiles) + " token tiles";
    return checkRegisters(c.columns * c.tiles + 1, target);
  }
  return "";
}

std::string smet::checkSddmm(const SddmmChoice &c, const SparseProblem &problem, const CPUTarget &target) {
  bool wide = problem.blockRows == 1 && problem.blockCols > 1, tall = problem.blockCols == 1;
  bool single = problem.blockRows == 1 && tall;
  if (std::string wrong = checkNumbers(c); !wrong.empty())
    return wrong;
  if (wide && !c.byColumns)
    return "blocks of one row are walked by columns";
  if (tall && c.byColumns)
    return "blocks of one column are walked by rows";
  if (int64_t lanes = lanesFor(target, problem.width); c.width > lanes)
    return "width must be at most the " + std::to_string(lanes) + " lanes of a vector";
  if (!single)
    return c.densePercent < 100 ? "dense_percent is for blocks of one weight"
                                : checkRegisters(c.width * (c.height + 1), target);
  if (c.height > 1)
    return "height is 1 for blocks of one weight";
  if (!llvm::isPowerOf2_64(c.width))
    return "width must be a power of two for blocks of one weight";
  return checkRegisters(c.chunkTiles * vectorsOf(problem, target) + c.width, target);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

namespace {
/// Those of the added choices that are possible, each once.
template <typename Choice, typename Check> struct Candidates {
  Check check;
  std::vector<Choice> choices;

  void add(const Choice &choice) {
    if (check(choice).empty() && !llvm::is_contained(choices, choice))
      choices.push_back(choice);
  }
};
} // namespace

std::vector<SpmmChoice> smet::spmmCandidates(const SparseProblem &problem, bool transpose, const CPUTarget &target) {
  SpmmChoice model = chooseSpmm(problem, transpose, target);
  auto check = [&](const SpmmChoice &choice) { return checkSpmm(choice, problem, transpose, target); };
  Candidates<SpmmChoice, decltype(check)> found{check, {model}};
  int64_t outer = transpose ? problem.blockCols : problem.blockRows;
  for (int64_t columns : {8, 4, 2, 1}) {
    // An output block in one register tile, in two about equal ones, ...
    for (int64_t parts = 1, fit = 0; parts <= outer && fit < 3; ++parts) {
      int64_t rows = llvm::divideCeil(outer, parts);
      fit += (rows + 1) * columns < target.numRegisters;
      for (int64_t chains : {1, 2, 4})
        if (chains == 1 || rows * columns * chains <= 16) // more sums need no chains
          found.add({.columns = columns, .rows = rows, .chains = chains, .pieces = model.pieces});
    }
  }
  for (int64_t columns : {4, 2})
    for (int64_t features : {2, 4, 8})
      for (int64_t panel : {128, 256, 512})
        found.add({.kernel = Kernel::Scatter,
                   .columns = columns,
                   .rows = std::min<int64_t>((target.numRegisters - 1) / columns - features, 4),
                   .features = features,
                   .panel = panel});
  for (int64_t tiles : {1, 2})
    for (auto [panel, sparsePanels] :
         {std::pair{32, 1}, {32, 2}, {64, 1}, {64, 2}, {128, 1}, {128, 2}, {256, 1}, {512, 1}})
      found.add({.kernel = Kernel::Panels,
                 .columns = 4,
                 .panel = panel,
                 .sparsePanels = sparsePanels,
                 .tiles = tiles,
                 .pieces = model.kernel == Kernel::Panels ? model.pieces : 1});
  return found.choices;
}

std::vector<SddmmChoice> smet::sddmmCandidates(const SparseProblem &problem, const CPUTarget &target) {
  SddmmChoice model = chooseSddmm(problem, target);
  auto check = [&](const SddmmChoice &choice) { return checkSddmm(choice, problem, target); };
  Candidates<SddmmChoice, decltype(check)> found{check, {model}};
  auto add = [&](auto &&change) {
    SddmmChoice choice = model;
    change(choice);
    found.add(choice);
  };
  for (bool byColumns : {false, true})
    for (int64_t chunk : {1, 2, 4, 8})
      add([&](SddmmChoice &c) { std::tie(c.byColumns, c.chunkTiles) = std::tuple(byColumns, chunk); });
  for (auto [height, width] : {std::pair{2, 4}, {3, 4}, {4, 4}, {2, 8}, {1, 8}, {1, 4}, {1, 16}})
    add([&](SddmmChoice &c) { std::tie(c.height, c.width) = std::tuple(height, width); });
  for (int64_t percent : {1, 100}) // whatever the density is: one of the two kernels
    add([&](SddmmChoice &c) { c.densePercent = percent; });
  return found.choices;
}
