//===- Passes.h - smet to smet ----------------------------------*- C++ -*-===//
#ifndef SMET_TRANSFORMS_PASSES_H
#define SMET_TRANSFORMS_PASSES_H

#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "smet/Transforms/Passes.h.inc"

/// How the ops of the smet and nn dialects bufferize: in place into their inits.
void registerBufferizableOpInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace smet

#endif // SMET_TRANSFORMS_PASSES_H
