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
};

/// How SDDMM walks the matrix and the tokens.
struct SddmmChoice {
  bool byColumns;        ///< segments are column blocks; the rows of dy are gathered
  int64_t height, width; ///< a tile of dot products: `width` rows of one side times `height` of the other
  int64_t chunkTiles;    ///< token tiles that all entries use before the next ones
  int64_t items;         ///< work items of a chunk, where there are enough entries
};

SddmmChoice chooseSddmm(const SparseProblem &problem, const CPUTarget &target);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSEKERNELCHOICE_H
