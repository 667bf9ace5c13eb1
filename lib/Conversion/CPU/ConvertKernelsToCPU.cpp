//===- ConvertKernelsToCPU.cpp - the pass ---------------------------------===//
#include "smet/Conversion/CPU.h"

#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

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
    CPUTarget target{vectorBits, numRegisters};
    RewritePatternSet patterns(&getContext());
    populateSparseCPUKernels(patterns, target);
    populateNNCPUKernels(patterns, target);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    // What is left was not a kernel for this target: an op in f64 or in token-major layout, say.
    getOperation().walk([&](KernelOpInterface op) {
      if (isa<MemRefType>(op->getOperands().back().getType())) {
        op->emitOpError("has no CPU kernel for these operand types");
        signalPassFailure();
      }
    });
  }
};
} // namespace
