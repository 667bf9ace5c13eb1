//===- DifferentiableOpInterface.h - reverse mode ---------------*- C++ -*-===//
#ifndef SMET_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
#define SMET_INTERFACES_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/BitVector.h"

#include "smet/Interfaces/DifferentiableOpInterface.h.inc"

#endif // SMET_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
