//===- NN.h - the nn dialect ------------------------------------*- C++ -*-===//
#ifndef SMET_DIALECT_NN_IR_NN_H
#define SMET_DIALECT_NN_IR_NN_H

#include "smet/Interfaces/KernelOp.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"

#include "smet/Dialect/NN/IR/NNDialect.h.inc"
#define GET_OP_CLASSES
#include "smet/Dialect/NN/IR/NNOps.h.inc"

namespace smet::nn {

/// Whether every element of the tensor is known to be zero: a constant, or the result of nn.fill.
bool isZero(mlir::Value value);

} // namespace smet::nn

#endif // SMET_DIALECT_NN_IR_NN_H
