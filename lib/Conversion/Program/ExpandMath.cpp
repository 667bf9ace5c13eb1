//===- ExpandMath.cpp - exp and log become polynomials --------------------===//
#include "smet/Conversion/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace smet {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;

namespace {
struct ExpandMathPass : smet::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::ExpOp::getOperationName() || name == math::LogOp::getOperationName();
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
