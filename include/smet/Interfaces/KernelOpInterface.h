//===- KernelOpInterface.h - ops that become kernels ------------*- C++ -*-===//
#ifndef SMET_INTERFACES_KERNELOPINTERFACE_H
#define SMET_INTERFACES_KERNELOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace smet {
/// Floating-point operations, and bytes moved between memory and the processor.
struct Work {
  int64_t flops = 0, bytes = 0;
  /// The bytes again, where every active block reads the activations that it needs for itself: what comes from a cache
  /// that all processors share. 0: `bytes`.
  int64_t cacheBytes = 0;
};

/// Whether operand number `operand` of `op` belongs to one of the given ODS operand groups.
template <typename OpT> bool inOperandGroups(OpT op, llvm::ArrayRef<unsigned> groups, unsigned operand) {
  return llvm::any_of(groups, [&](unsigned group) {
    auto [start, length] = op.getODSOperandIndexAndLength(group);
    return operand >= start && operand < start + length;
  });
}
} // namespace smet

#include "smet/Interfaces/KernelOpInterface.h.inc"

#endif // SMET_INTERFACES_KERNELOPINTERFACE_H
