//===- SparseKernelChoice.h - how sparse products are tiled -----*- C++ -*-===//
//
// The cost model of SpMM and SDDMM on the CPU: from the shape of a product and the target it derives the numbers that
// the emitters take as given. Plain C++ without IR, so that a test can hold it against measurements and a tuner can
// replace its answers. Densities are not known here (a change of density recompiles nothing).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSEKERNELCHOICE_H
#define SMET_LIB_CONVERSION_CPU_SPARSEKERNELCHOICE_H

#include "smet/Conversion/CPU.h"

namespace smet {

/// A sparse N x K matrix in R x C blocks, multiplied with activations in token tiles.
struct SparseProblem {
  int64_t rows, cols, blockRows, blockCols;
  int64_t width; ///< tokens of a tile
  int64_t tiles;
};

/// How SpMM is computed. "Outputs" are the features of y, "inputs" those of x.
struct SpmmChoice {
  enum class Kernel {
    Tiles,   ///< an output block in register tiles, over all its entries
    Scatter, ///< inputs in registers, added to the outputs of a panel
    Panels,  ///< panels of inputs, an output's sums in registers over its entries in the panel
  } kernel;
  int64_t columns;      ///< token vectors of a register tile
  int64_t rows;         ///< outputs of a register tile (Tiles: some tiles have one less)
  int64_t chains;       ///< Tiles: independent sums an accumulator is split into
  int64_t features;     ///< Scatter: inputs in registers
  int64_t panel;        ///< features of a panel: outputs of Scatter, inputs of Panels
  int64_t sparsePanels; ///< Panels: so many are one where the density is at most 1/3
  int64_t tiles;        ///< Panels: token tiles taken together
  int64_t pieces;       ///< ranges of outputs that are separate items of work
};

/// How SDDMM walks the matrix and the tokens.
struct SddmmChoice {
  bool byColumns;        ///< segments are column blocks; the rows of dy are gathered
  int64_t height, width; ///< a tile of dot products: `width` rows of one side times `height` (1 x 1: 1) of the other
  int64_t chunkTiles;    ///< token tiles that all entries use before the next ones
  int64_t panel;         ///< 1 x 1: inputs of a panel, where the density is above 1/3
  int64_t items;         ///< work items of a chunk, where there are enough entries
};

SpmmChoice chooseSpmm(const SparseProblem &problem, bool transpose, const CPUTarget &target);
SddmmChoice chooseSddmm(const SparseProblem &problem, const CPUTarget &target);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSEKERNELCHOICE_H
