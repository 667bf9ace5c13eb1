//===- SparseKernelChoice.h - how sparse products are tiled -----*- C++ -*-===//
//
// The cost model of SpMM and SDDMM on the CPU: from the shape of a product and the target it derives the numbers that
// the emitters take as given. Plain C++ without IR, so that a test can hold it against measurements. Densities are not
// known here (a change of density recompiles nothing). Beside the model: which choices are possible at all, and which
// of them are worth measuring (--tune).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSEKERNELCHOICE_H
#define SMET_LIB_CONVERSION_CPU_SPARSEKERNELCHOICE_H

#include "smet/Conversion/CPU.h"

#include <string>
#include <type_traits>
#include <vector>

namespace smet {

/// A sparse N x K matrix in R x C blocks, multiplied with activations in token tiles.
struct SparseProblem {
  int64_t rows, cols, blockRows, blockCols;
  int64_t width; ///< tokens of a tile
  int64_t tiles;
  bool bf16 = false; ///< activations are stored in bf16
};

/// How SpMM is computed. "Outputs" are the features of y, "inputs" those of x. What a kernel does not read is 1.
struct SpmmChoice {
  enum class Kernel {
    Tiles,   ///< an output block in register tiles, over all its entries
    Scatter, ///< inputs in registers, added to the outputs of a panel
    Panels,  ///< panels of inputs, an output's sums in registers over its entries in the panel
  } kernel = Kernel::Tiles;
  int64_t columns = 1;      ///< token vectors of a register tile
  int64_t rows = 1;         ///< outputs of a register tile (Tiles: some tiles have one less)
  int64_t chains = 1;       ///< Tiles: independent sums an accumulator is split into
  int64_t features = 1;     ///< Scatter: inputs in registers
  int64_t panel = 1;        ///< features of a panel: outputs of Scatter, inputs of Panels
  int64_t sparsePanels = 1; ///< Panels: so many are one where the density is at most 1/3
  int64_t tiles = 1;        ///< Panels: token tiles taken together
  int64_t pieces = 1;       ///< ranges of outputs that are separate items of work

  bool operator==(const SpmmChoice &) const = default;
};
inline constexpr const char *kernelNames[] = {"tiles", "scatter", "panels"};

/// How SDDMM walks the matrix and the tokens.
struct SddmmChoice {
  bool byColumns = false;        ///< segments are column blocks; the rows of dy are gathered
  int64_t height = 1, width = 1; ///< a tile of dot products: `width` rows of one side times `height` of the other
  int64_t chunkTiles = 1;        ///< token tiles that all entries use before the next ones
  int64_t densePercent = 100;    ///< 1 x 1: where more of the weights are active, all are computed, and these picked
  int64_t items = 1;             ///< work items of a chunk, where there are enough entries

  bool operator==(const SddmmChoice &) const = default;
};

/// visit(name, field) for all that the chosen kernel reads, in the words of IR and of tuning results.
template <typename Choice, typename Visitor> void visitFields(Choice &choice, Visitor &&visit) {
  if constexpr (std::is_same_v<std::remove_const_t<Choice>, SddmmChoice>) {
    visit("by_columns", choice.byColumns);
    visit("height", choice.height);
    visit("width", choice.width);
    visit("chunk_tiles", choice.chunkTiles);
    visit("dense_percent", choice.densePercent);
    visit("items", choice.items);
  } else {
    using Kernel = SpmmChoice::Kernel;
    visit("kernel", choice.kernel);
    visit("columns", choice.columns);
    if (choice.kernel != Kernel::Panels)
      visit("rows", choice.rows);
    if (choice.kernel == Kernel::Tiles)
      visit("chains", choice.chains);
    if (choice.kernel == Kernel::Scatter)
      visit("features", choice.features);
    if (choice.kernel != Kernel::Tiles)
      visit("panel", choice.panel);
    if (choice.kernel == Kernel::Panels) {
      visit("sparse_panels", choice.sparsePanels);
      visit("tiles", choice.tiles);
    }
    if (choice.kernel != Kernel::Scatter)
      visit("pieces", choice.pieces);
  }
}

/// Whether items of Tiles convert their token tile once, into a copy, and not each x vector where it is used.
bool copiesTiles(const SparseProblem &problem);

SpmmChoice chooseSpmm(const SparseProblem &problem, bool transpose, const CPUTarget &target);
SddmmChoice chooseSddmm(const SparseProblem &problem, const CPUTarget &target);

/// Why a product cannot be computed so; empty where it can.
std::string checkSpmm(const SpmmChoice &choice, const SparseProblem &problem, bool transpose, const CPUTarget &target);
std::string checkSddmm(const SddmmChoice &choice, const SparseProblem &problem, const CPUTarget &target);

/// Choices that may be the fastest; the model's is the first.
std::vector<SpmmChoice> spmmCandidates(const SparseProblem &problem, bool transpose, const CPUTarget &target);
std::vector<SddmmChoice> sddmmCandidates(const SparseProblem &problem, const CPUTarget &target);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSEKERNELCHOICE_H
