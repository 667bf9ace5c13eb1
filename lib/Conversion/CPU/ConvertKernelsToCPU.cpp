//===- ConvertKernelsToCPU.cpp - the pass ---------------------------------===//
#include "SparseKernelAttr.h"
#include "smet/Conversion/CPU.h"
#include "smet/Conversion/KernelPattern.h"

#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smet {
#define GEN_PASS_DEF_CONVERTKERNELSTOCPUPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {
struct ConvertKernelsToCPUPass : smet::impl::ConvertKernelsToCPUPassBase<ConvertKernelsToCPUPass> {
  using Base::Base;

  void runOnOperation() final {
    if (vectorBits < 128 || vectorBits > 2048 || !llvm::isPowerOf2_64(vectorBits) || numRegisters < 8) {
      getOperation().emitError("smet-convert-kernels-to-cpu: vector-bits must be a power of two from 128 to 2048 and "
                               "num-registers at least 8, got ")
          << int64_t(vectorBits) << " and " << int64_t(numRegisters);
      return signalPassFailure();
    }
    CPUTarget target{vectorBits, numRegisters};
    if (failed(checkChoices(getOperation(), target)))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    populateSparseCPUKernels(patterns, target);
    populateNNCPUKernels(patterns, target);
    // What is left was not a kernel for this target: an op in f64 or in token-major layout, say.
    if (failed(convertKernels(getOperation(), std::move(patterns), "CPU kernel")))
      signalPassFailure();
  }
};
} // namespace
