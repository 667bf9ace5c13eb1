//===- DifferentiableOpInterface.td - reverse mode ---------*- tablegen -*-===//
//
// The one method that `smet-differentiate` needs of an op.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_INTERFACES_DIFFERENTIABLEOPINTERFACE
#define SMET_INTERFACES_DIFFERENTIABLEOPINTERFACE

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::smet";
  let description = [{
    An op with a vector-Jacobian product: given the gradients of the loss with respect to its results, `buildVjp`
    emits ops that compute the gradients with respect to its inputs.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the vector-Jacobian product at the builder's insertion point.

      `resultGrads` has one value per result, null where the loss does not depend on it. `inputGrads` arrives with one
      null per DPS input and leaves with the gradients of the differentiable ones (integers, topologies and scalars of
      the schedule stay null). Only gradients for which `needed` is set have to be built.
    }], "void", "buildVjp",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads, "const ::llvm::BitVector &":$needed,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$inputGrads)>,
  ];
}

#endif // SMET_INTERFACES_DIFFERENTIABLEOPINTERFACE
