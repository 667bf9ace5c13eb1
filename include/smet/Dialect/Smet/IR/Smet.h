//===- Smet.h - the smet dialect --------------------------------*- C++ -*-===//
#ifndef SMET_DIALECT_SMET_IR_SMET_H
#define SMET_DIALECT_SMET_IR_SMET_H

#include "smet/Dialect/Smet/IR/Real.h"
#include "smet/Interfaces/KernelOp.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"

#include "smet/Dialect/Smet/IR/SmetDialect.h.inc"
#include "smet/Dialect/Smet/IR/SmetEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "smet/Dialect/Smet/IR/SmetAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "smet/Dialect/Smet/IR/SmetTypes.h.inc"
#define GET_OP_CLASSES
#include "smet/Dialect/Smet/IR/SmetOps.h.inc"

#endif // SMET_DIALECT_SMET_IR_SMET_H
