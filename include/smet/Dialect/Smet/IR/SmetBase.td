//===- SmetBase.td - the smet dialect ----------------------*- tablegen -*-===//
#ifndef SMET_DIALECT_SMET_SMETBASE
#define SMET_DIALECT_SMET_SMETBASE

include "mlir/IR/OpBase.td"

def Smet_Dialect : Dialect {
  let name = "smet";
  let cppNamespace = "::smet";
  let summary = "masked weights, topology updates and sparse optimizer steps";
  let description = [{
    One topology value says which R x C blocks of an N x K weight are active. Weight values, gradient, moments and age
    are plain dense arrays indexed by the same slot, so "same pattern" holds by construction, optimizer maths is
    ordinary arithmetic, and only SpMM, SDDMM and the topology ops know sparsity. No op of this dialect has an N x K
    operand but `to_dense`, `from_dense` and `from_mask`, which exist for export, import and tests.

    Letters in shapes: N x K the matrix, R x C a block, nnz the active blocks (slots), T tokens. Activations are
    `[T, F]` or packed token tiles, as in the `nn` dialect; a scalar is an array of rank 0. Kernel ops are destination
    style, on tensors with results, on memrefs without, and the float arrays of one have one element type, f32 or f64;
    bf16 may stand wherever f32 may: it is a form of storage, everything is computed in f32.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // SMET_DIALECT_SMET_SMETBASE
