//===- NN.h - the nn dialect ------------------------------------*- C++ -*-===//
#ifndef SMET_DIALECT_NN_IR_NN_H
#define SMET_DIALECT_NN_IR_NN_H

#include "smet/Interfaces/KernelOp.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "smet/Dialect/NN/IR/NNDialect.h.inc"
#define GET_OP_CLASSES
#include "smet/Dialect/NN/IR/NNOps.h.inc"

#endif // SMET_DIALECT_NN_IR_NN_H
