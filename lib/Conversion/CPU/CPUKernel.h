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

inline bool isArrayOf(mlir::Value value, llvm::function_ref<bool(mlir::Type)> isElement) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(value.getType());
  return type && isElement(type.getElementType()) && type.getLayout().isIdentity();
}
inline bool isF32(mlir::Value value) {
  return isArrayOf(value, [](mlir::Type element) { return element.isF32(); });
}
/// Whether an array's elements are computed with in f32: KernelBuilder's loads and stores convert bf16.
inline bool isF32OrBF16(mlir::Value value) {
  return isArrayOf(value, [](mlir::Type element) { return element.isF32() || element.isBF16(); });
}

/// body(begin, end) in parallel over [0, n) in pieces of `step` (the last one may be shorter).
inline void parallelPieces(KernelBuilder &k, Val n, Val step, llvm::function_ref<void(Val, Val)> body) {
  k.parallel((n + step - 1) / step, [&](Val piece) {
    Val begin = piece * step;
    body(begin, k.min(begin + step, n));
  });
}

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_CPUKERNEL_H
