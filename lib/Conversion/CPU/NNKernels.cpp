//===- NNKernels.cpp - kernels of the nn dialect --------------------------===//
#include "NNKernels.h"

using namespace smet;

void smet::populateNNCPUKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target) {
  populateElementwiseKernels(patterns, target);
  populateNormKernels(patterns, target);
  populateEmbeddingKernels(patterns, target);
  populateRopeKernels(patterns, target);
  populateAttentionKernels(patterns, target);
  populateLinearKernels(patterns, target);
  populateLossKernels(patterns, target);
  populateLayoutKernels(patterns, target);
}
