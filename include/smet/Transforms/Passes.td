//===- Passes.td - smet to smet ----------------------------*- tablegen -*-===//
#ifndef SMET_TRANSFORMS_PASSES
#define SMET_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"smet-differentiate", "::mlir::ModuleOp"> {
  let summary = "a forward function that returns a loss becomes one that returns loss and gradients";
  let dependentDialects = ["::smet::SmetDialect", "::smet::nn::NNDialect"];
}

#endif // SMET_TRANSFORMS_PASSES
