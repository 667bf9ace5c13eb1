//===- AdamKernels.h - the optimizer on the GPU -----------------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_GPU_ADAMKERNELS_H
#define SMET_LIB_CONVERSION_GPU_ADAMKERNELS_H

#include "GPUKernel.h"
#include "smet/Conversion/Adam.h"

namespace smet {

/// Lanes of a thread's vectors.
constexpr int64_t adamLanes = 4;

/// What is the same for all weights of a step is computed by a launch of one thread, and read by all others.
class CommonOfStep {
public:
  CommonOfStep(GPUBuilder &k, AdamWAttr adamw, mlir::Value lr, mlir::Value step, Val density, bool countsAge);

  /// In a launch.
  AdamEmitter emitter() const;

private:
  GPUBuilder &k;
  AdamWAttr adamw;
  mlir::Value step, scratch; ///< [3]: rate, first, second
};

/// A launch that makes every slot a step older; after all that need the ages before.
void makeOlder(GPUBuilder &k, const CommonOfStep &common, mlir::Value age);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_ADAMKERNELS_H
