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
#include "smet/Dialect/Smet/IR/Choice.h"

#include <vector>

namespace smet {

/// A sparse N x K matrix in R x C blocks, multiplied with activations in token tiles.
struct SparseProblem {
  int64_t rows, cols, blockRows, blockCols;
  int64_t width; ///< tokens of a tile
  int64_t tiles;
  bool bf16 = false; ///< activations are stored in bf16
};

/// Lanes of the vectors of 32-bit elements that a token tile of `width` is taken in: as many as the target has, or as
/// divide `width`.
int64_t lanesFor(const CPUTarget &target, int64_t width);
/// Such vectors in a token tile.
int64_t vectorsOf(const SparseProblem &problem, const CPUTarget &target);

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
