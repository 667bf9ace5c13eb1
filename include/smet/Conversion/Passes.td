//===- Passes.td - kernels to target code ------------------*- tablegen -*-===//
#ifndef SMET_CONVERSION_PASSES
#define SMET_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertKernelsToReferencePass : Pass<"smet-convert-kernels-to-reference", "::mlir::ModuleOp"> {
  let summary = "smet and nn ops on memrefs to sparse_tensor and linalg: the lowering that defines their meaning";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::sparse_tensor::SparseTensorDialect"];
}

def ConvertKernelsToCPUPass : Pass<"smet-convert-kernels-to-cpu", "::mlir::ModuleOp"> {
  let summary = "smet and nn ops on packed token tiles to scf and vector loops with register accumulators";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::smet::SmetDialect"];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "512", "width of the target's vector registers in bits">,
    Option<"numRegisters", "num-registers", "int64_t", "32", "how many vector registers the target has">,
  ];
}

#endif // SMET_CONVERSION_PASSES
