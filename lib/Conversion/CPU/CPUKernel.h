//===- CPUKernel.h - what all CPU kernels share -----------------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_CPU_CPUKERNEL_H
#define SMET_LIB_CONVERSION_CPU_CPUKERNEL_H

#include "smet/Conversion/CPU.h"
#include "smet/Conversion/KernelPattern.h"

namespace smet {

/// A kernel that is shaped by the target.
template <typename OpT> struct CPUKernel : KernelPattern<OpT> {
  CPUTarget target;

  CPUKernel(mlir::MLIRContext *context, const CPUTarget &target) : KernelPattern<OpT>(context), target(target) {}
};

/// body(begin, end) in parallel over [0, n) in pieces of `step` (the last one may be shorter).
inline void parallelPieces(KernelBuilder &k, Val n, Val step, llvm::function_ref<void(Val, Val)> body) {
  k.parallel((n + step - 1) / step, [&](Val piece) {
    Val begin = piece * step;
    body(begin, k.min(begin + step, n));
  });
}

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_CPUKERNEL_H
