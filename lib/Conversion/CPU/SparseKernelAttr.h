//===- SparseKernelAttr.h - choices as attributes of ops --------*- C++ -*-===//
//
// How a sparse product is computed may be said by its op, in place of the cost model:
//
//   smet.spmm ... {smet.choice = {kernel = "tiles", columns = 4, rows = 6, chains = 1, pieces = 8}}
//   smet.sddmm ... {smet.choice = {by_columns = false, height = 4, width = 4, chunk_tiles = 2, items = 64}}
//
// Names and meanings are those of SparseKernelChoice.h; a number that is left out is 1. smet.sddmm_adam takes what
// smet.sddmm takes. The attribute is a part of the kernel, and so of the key that its object is kept under.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSEKERNELATTR_H
#define SMET_LIB_CONVERSION_CPU_SPARSEKERNELATTR_H

#include "SparseKernelChoice.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace smet {

/// What an op looks like to the model, its activations [T, F] in tiles of `tile` tokens or packed already; none where
/// it is no sparse product, has sizes that are not known, or tokens that fill no tile. Packed tiles whose number is not
/// known count as one.
std::optional<SparseProblem> problemOf(mlir::Operation *op, int64_t tile);
/// How an smet.spmm is computed: as it says, else by the model. checkChoices went before.
SpmmChoice spmmChoice(mlir::Operation *op, const CPUTarget &target);
/// The same of smet.sddmm and smet.sddmm_adam.
SddmmChoice sddmmChoice(mlir::Operation *op, const CPUTarget &target);

/// An error at every op below `root` that is given a choice which it cannot take.
mlir::LogicalResult checkChoices(mlir::Operation *root, const CPUTarget &target);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSEKERNELATTR_H
