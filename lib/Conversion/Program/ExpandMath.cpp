//===- ExpandMath.cpp - exp and log become polynomials --------------------===//
#include "smet/Conversion/KernelBuilder.h"
#include "smet/Conversion/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <numbers>

namespace smet {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

// exp(x) = 2^n exp(r), where x = n log 2 + r and |r| <= log(2) / 2. The polynomial and the two parts of log 2 are those
// of Cephes' expf. Upstream's expansion takes more than twice the operations, for limits that comparisons see to here
// and for results below 2^-126.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op, PatternRewriter &rewriter) const final {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    KernelBuilder k(rewriter, op.getLoc());
    auto real = [&](double value) { return k.real(value, type); };
    auto clamp = [&](Val x, KernelBuilder::Compare beyond, double limit) {
      return k.select(k.compare(beyond, x, real(limit)), real(limit), x);
    };
    // At the first the result is 0 already (it is below 2^-125), at the second infinity. A NaN is on neither side.
    Val x = clamp(k.wrap(op.getOperand()), KernelBuilder::Compare::lt, -87.6);
    x = clamp(x, KernelBuilder::Compare::gt, 88.8);

    // A sum of this size has no bits below one: it is rounded, n + bias is in its lowest bits, and there, moved up, the
    // exponent of 2^(n - 1). Of the least n that is 0, of the greatest it is finite.
    constexpr double bias = 126, rounding = (3 << 22) + bias;
    Val sum = k.fma(x, real(std::numbers::log2e), real(rounding));
    Val power = k.bitcast(k.shiftLeft(k.bitcast(sum, k.b.getI32Type()), 23), k.b.getF32Type());
    Val n = sum - real(rounding);
    Val r = k.fma(n, real(2.12194440e-4), k.fma(n, real(-0.693359375), x));

    Val p = real(1.9875691500e-4);
    for (double c : {1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1})
      p = k.fma(p, r, real(c));
    Val half = (k.fma(p, r * r, r) + real(1)) * power;
    rewriter.replaceOp(op, (half + half).get());
    return success();
  }
};

struct ExpandMathPass : smet::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp>(&getContext());
    populateMathPolynomialApproximationPatterns(patterns,
                                                [](StringRef name) { return name == math::LogOp::getOperationName(); });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
