//===- ConvertKernelsToGPU.cpp - the pass ---------------------------------===//
#include "GPUKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smet {
#define GEN_PASS_DEF_CONVERTKERNELSTOGPUPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {
struct ConvertKernelsToGPUPass : smet::impl::ConvertKernelsToGPUPassBase<ConvertKernelsToGPUPass> {
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    populateElementwiseGPUKernels(patterns);
    populateSpmmGPUKernels(patterns);
    populateSddmmGPUKernels(patterns);
    populateAdamGPUKernels(patterns);
    populateSlotGPUKernels(patterns);
    populateRopeGPUKernels(patterns);
    populateEmbeddingGPUKernels(patterns);
    populateLayoutGPUKernels(patterns);
    populateNormGPUKernels(patterns);
    populateLinearGPUKernels(patterns);
    populateLossGPUKernels(patterns);
    populateTopologyGPUKernels(patterns);
    populateAttentionGPUKernels(patterns);
    populateAttentionGradGPUKernels(patterns);
    populateCachedAttentionGPUKernels(patterns);
    if (failed(convertKernels(getOperation(), std::move(patterns), "GPU kernel")))
      signalPassFailure();
  }
};
} // namespace
