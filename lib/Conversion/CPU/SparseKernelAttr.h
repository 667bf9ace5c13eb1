//===- SparseKernelAttr.h - choices as attributes of ops --------*- C++ -*-===//
//
// How a sparse product is computed may be said by its op (smet.choice, smet/Dialect/Smet/IR/Choice.h), in place of the
// cost model.
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
