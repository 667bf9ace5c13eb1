//===- KernelOp.h - the common shape of compute ops -------------*- C++ -*-===//
#ifndef SMET_INTERFACES_KERNELOP_H
#define SMET_INTERFACES_KERNELOP_H

#include "smet/Interfaces/DifferentiableOpInterface.h"
#include "smet/Interfaces/KernelOpInterface.h"
#include "smet/Interfaces/Shapes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace smet {

/// The effects of a destination-style op on memrefs: inputs are read, inits read and written. On tensors it is pure.
void addDestinationStyleEffects(mlir::DestinationStyleOpInterface op,
                                llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects);

/// Whether the op has results and each has a destination of its own (tensor.empty). Only then may another value replace
/// a result: one that is bound to an array of the program must be written there.
bool hasFreshInits(mlir::DestinationStyleOpInterface op);

/// A fresh destination of the given tensor type. One per output: shared ones would merge lifetimes.
mlir::Value emptyTensor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);

/// Creates a destination-style op on tensors with fresh destinations of the given types.
template <typename OpT, typename... Args>
OpT createWithEmptyInits(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypeRange types, mlir::ValueRange inputs,
                         llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  llvm::SmallVector<mlir::Value> operands(inputs);
  for (mlir::Type type : types)
    operands.push_back(emptyTensor(builder, loc, type));
  return OpT::create(builder, loc, types, operands, attributes);
}

} // namespace smet

#endif // SMET_INTERFACES_KERNELOP_H
