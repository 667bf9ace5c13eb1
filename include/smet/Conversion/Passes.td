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

//===----------------------------------------------------------------------===//
// Dispatches, parallel loops and memory to a program (runtime/program/Abi.h)
//===----------------------------------------------------------------------===//

def HoistWorkspacePass : Pass<"smet-hoist-workspace", "::mlir::ModuleOp"> {
  let summary = "scratch of kernels becomes an argument that the caller allocates";
  let description = [{
    A kernel asks for scratch by a `memref.alloc` of static size at the top of its `main`. It becomes one more init of the
    kernel, allocated by every caller right before the dispatch, so that smet-plan-memory places it in the arena.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def PlanMemoryPass : Pass<"smet-plan-memory", "::mlir::ModuleOp"> {
  let summary = "every buffer gets its place in the arena; writes the manifest";
  let description = [{
    Named arguments (`smet.name`, `smet.role`) get one place each, shared by all entry points. Allocations follow in a common
    workspace by liveness: larger ones first, each at the lowest offset that is free while it lives. The functions take the arena
    alone, and the module gets the attribute `smet.manifest` (JSON; runtime/program/Manifest.h), with the module's `smet.config`
    in it. A gradient, i.e. an allocation that an optimizer step reads, is listed as "W.grad".

    ```mlir
    func.func @eval_step(%w: memref<4x16x16xf32> {smet.name = "w", smet.role = "param"}, ...) {
      %y = memref.alloc() : memref<2x64x64xf32>
    // becomes
    func.func @eval_step(%arena: memref<36864xi8>) {
      %w = memref.view %arena[%c0][] : memref<36864xi8> to memref<4x16x16xf32>
      %y = memref.view %arena[%c4096][] : memref<36864xi8> to memref<2x64x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def LowerEntryPointsPass : Pass<"smet-lower-entry-points", "::mlir::ModuleOp"> {
  let summary = "entry points on the arena become lists of kernel and routine calls in the LLVM dialect";
  let description = [{
    `func.func @f(%arena)` becomes `llvm.func @smet_f(%context, %arena) -> i32`. A dispatch or routine is a call with a constant table of
    offsets, sizes and words; a routine that fails and a `smet.check_finite` that fires return at once.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerKernelPass : Pass<"smet-lower-kernel", "::mlir::ModuleOp"> {
  let summary = "a kernel's main takes (context, arena, table); parallel loops and smet.gemm call the runtime";
  let description = [{
    On one kernel module `@k`: `func.func @main(%x: memref<...>, ...)` becomes `llvm.func @k(%context, %arena, %table)`, which builds
    its memrefs from the table. The body of an `scf.parallel` becomes a function of (environment, begin, end) that
    context->parallel_for calls; what it uses from outside travels in a struct on the caller's stack. `smet.gemm` calls
    context->sgemm.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ExpandMathPass : Pass<"smet-expand-math", "::mlir::ModuleOp"> {
  let summary = "math.exp and math.log in f32 become polynomials, so that they vectorize and need no library";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif // SMET_CONVERSION_PASSES
