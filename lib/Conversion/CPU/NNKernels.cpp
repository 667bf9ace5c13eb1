//===- NNKernels.cpp - kernels of the nn dialect --------------------------===//
#include "NNKernels.h"

using namespace smet;

void smet::populateNNCPUKernels(mlir::RewritePatternSet &patterns, const CPUTarget &) {
  populateElementwiseKernels(patterns);
  populateNormKernels(patterns);
  populateEmbeddingKernels(patterns);
  populateRopeKernels(patterns);
  populateAttentionKernels(patterns);
  populateLinearKernels(patterns);
  populateLossKernels(patterns);
  populateLayoutKernels(patterns);
}
