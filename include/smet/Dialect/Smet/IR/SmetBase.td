//===- SmetBase.td - the smet dialect ----------------------*- tablegen -*-===//
#ifndef SMET_DIALECT_SMET_SMETBASE
#define SMET_DIALECT_SMET_SMETBASE

include "mlir/IR/OpBase.td"

def Smet_Dialect : Dialect {
  let name = "smet";
  let cppNamespace = "::smet";
  let summary = "masked weights, topology updates and sparse optimizer steps";
  let description = [{
    One topology value says which R x C blocks of an N x K weight are active. Weight values, gradient, moments and age are
    plain dense arrays indexed by the same slot, so "same pattern" holds by construction, optimizer maths is ordinary
    arithmetic, and only SpMM, SDDMM and the topology ops know sparsity. No op of this dialect has an N x K operand but
    `to_dense` and `from_dense`, which exist for export, import and tests.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // SMET_DIALECT_SMET_SMETBASE
