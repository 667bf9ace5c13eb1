//===- GPU.h - kernels for the GPU ------------------------------*- C++ -*-===//
//
// Rewrites smet and nn ops on memrefs into `gpu.launch`. Activations are feature-major: one tile [1, F, T] of all
// tokens, T contiguous and padded. Neighbouring threads have neighbouring tokens; sums over what several threads have
// are made in a fixed order, without atomics, so that results do not depend on the order of threads.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_CONVERSION_GPU_H
#define SMET_CONVERSION_GPU_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL_CONVERTKERNELSTOGPUPASS
#define GEN_PASS_DECL_OUTLINELAUNCHESPASS
#define GEN_PASS_DECL_CONVERTMATHTOINTRINSICSPASS
#include "smet/Conversion/Passes.h.inc"

} // namespace smet

#endif // SMET_CONVERSION_GPU_H
