//===- Sddmm.h - gradients of weights, wherever they go ---------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_GPU_SDDMM_H
#define SMET_LIB_CONVERSION_GPU_SDDMM_H

#include "GPUKernel.h"
#include "smet/Conversion/Topology.h"

namespace smet {

/// dW = dy x of the active blocks; sums over tokens.
struct Sddmm {
  TopologyType type;
  Walk walk; ///< by rows: entries are slots
  Activation x, dy;
};

/// Takes the gradient of weight `at`, counted from the first of the first slot; or of as many as it is a vector of,
/// from `at` on.
using TakeGradient = llvm::function_ref<void(Val slot, Val at, Val gradient)>;

/// A launch that computes every weight's gradient: on tensor cores.
void sddmmOnTensorCores(GPUBuilder &k, const Sddmm &sddmm, Val slots, TakeGradient take);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_SDDMM_H
