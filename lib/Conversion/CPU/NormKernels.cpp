//===- NormKernels.cpp - rms_norm and its gradient ------------------------===//
#include "NNKernels.h"

using namespace mlir;
using namespace smet;

namespace {

/// Sums over features, lane by lane: `accumulate` adds a feature's terms to them.
Vals sumsOverFeatures(KernelBuilder &k, const Tiles &x, unsigned count, function_ref<Vals(Val, Vals)> accumulate) {
  return k.loop(0, x.features, 1, Vals(count, k.zero(k.vectorOf(x.lanes, k.b.getF32Type()))), accumulate);
}

/// 1 / sqrt(mean(x^2) + eps) of every token, from the sum of the squares.
Val reciprocalNorm(KernelBuilder &k, const Tiles &x, Val sumOfSquares, double eps) {
  Val mean = sumOfSquares * k.real(1.0 / x.features, sumOfSquares.type());
  return k.real(1, mean.type()) / k.sqrt(mean + k.real(eps, mean.type()));
}

struct RMSNormKernel : CPUKernel<nn::RMSNormOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::RMSNormOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    k.parallel(x.tiles, [&](Val tile) {
      Val squares = sumsOverFeatures(k, x, 1, [&](Val f, Vals sum) -> Vals {
        Val v = x.load(k, tile, f);
        return {k.fma(v, v, sum[0])};
      })[0];
      Val r = reciprocalNorm(k, x, squares, op.getEps().convertToDouble());
      k.loop(0, x.features, 1,
             [&](Val f) { y.store(k, x.load(k, tile, f) * r * k.load(op.getGamma(), {f}), tile, f); });
    });
    return success();
  }
};

// dx = r g - x r^3 mean(x g) with g = gamma dy, tile by tile, which leaves the tile's share of dgamma[f], the sum of
// dy x r; then these, tiles in order.
struct RMSNormGradKernel : CPUKernel<nn::RMSNormGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::RMSNormGradOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), dy = Tiles::of(op.getDy()), dx = Tiles::of(op.getDx());
    if (!x || !dy || !dx)
      return failure();
    Type f32 = k.b.getF32Type();
    Value shares = k.workspace({x.tiles, x.features}, f32).get();
    k.parallel(x.tiles, [&](Val tile) {
      auto g = [&](Val f) { return dy.load(k, tile, f) * k.load(op.getGamma(), {f}); };
      Vals sums = sumsOverFeatures(k, x, 2, [&](Val f, Vals sums) -> Vals {
        Val v = x.load(k, tile, f);
        return {k.fma(v, v, sums[0]), k.fma(v, g(f), sums[1])};
      });
      Val r = reciprocalNorm(k, x, sums[0], op.getEps().convertToDouble());
      Val factor = r * r * r * sums[1] * k.real(1.0 / x.features, r.type());
      k.loop(0, x.features, 1, [&](Val f) {
        Val v = x.load(k, tile, f);
        k.store(k.sum(dy.load(k, tile, f) * v * r), shares, {tile, f});
        dx.store(k, r * g(f) - v * factor, tile, f);
      });
    });
    parallelPieces(k, k.index(x.features), 16, [&](Val begin, Val end) {
      k.loop(begin, end, 1, [&](Val f) {
        Val sum = k.loop(0, x.tiles, 1, {k.zero(f32)}, [&](Val tile, Vals sum) -> Vals {
          return {sum[0] + k.load(shares, {tile, f})};
        })[0];
        k.store(sum, op.getDgamma(), {f});
      });
    });
    return success();
  }
};

} // namespace

void smet::populateNormKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<RMSNormKernel, RMSNormGradKernel>(patterns.getContext(), target);
}
