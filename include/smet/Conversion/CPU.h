//===- CPU.h - kernels for the CPU ------------------------------*- C++ -*-===//
//
// Rewrites every smet and nn op on memrefs into loops on packed token tiles [ceil(T / L), F, L] (L is the last size of
// the type): SIMD lanes are tokens, sums stay in register accumulators (vector iter_args). Work is split by
// `scf.parallel` loops without reductions, standing at the top of a kernel or inside sequential `scf.for`; each
// iteration writes what no other one touches, so results do not depend on the number of threads. Scratch is
// `memref.alloca` inside a parallel body (small, on the thread's stack) or `memref.alloc` of static size at the top of
// the kernel (hoisted into the arena by smet-hoist-workspace; not freed).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_CONVERSION_CPU_H
#define SMET_CONVERSION_CPU_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL_CONVERTKERNELSTOCPUPASS
#include "smet/Conversion/Passes.h.inc"

/// What kernels are shaped by.
struct CPUTarget {
  int64_t vectorBits = 512;
  int64_t numRegisters = 32;
};

/// The ways to compute a sparse product (smet.spmm, smet.sddmm, smet.sddmm_adam; tensors [T, F] come in tiles of `tile`
/// tokens) as values of its smet.choice, the cost model's own first. None of other ops, and where the tokens fill no
/// tile.
llvm::SmallVector<mlir::DictionaryAttr> sparseProductCandidates(mlir::Operation *op, const CPUTarget &target,
                                                                int64_t tile);

/// SpMM, SDDMM, optimizer steps, scores.
void populateSparseCPUKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
/// Everything of the nn dialect.
void populateNNCPUKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);

} // namespace smet

#endif // SMET_CONVERSION_CPU_H
