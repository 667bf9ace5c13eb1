//===- NormKernels.cpp - rms_norm and its gradient ------------------------===//
#include "NNKernels.h"

using namespace mlir;
using namespace smet;

namespace {

/// Sum over features of body(feature), lane by lane.
Val sumOverFeatures(KernelBuilder &k, const Tiles &x, function_ref<Val(Val, Val)> accumulate) {
  Val zero = k.zero(k.vectorOf(x.lanes, k.b.getF32Type()));
  return k.loop(0, x.features, 1, {zero}, [&](Val f, Vals sum) -> Vals { return {accumulate(f, sum[0])}; })[0];
}

/// 1 / sqrt(mean(x^2) + eps) of every token of a tile.
Val reciprocalNorm(KernelBuilder &k, const Tiles &x, Val tile, double eps) {
  Val sum = sumOverFeatures(k, x, [&](Val f, Val sum) {
    Val v = x.load(k, tile, f);
    return k.fma(v, v, sum);
  });
  Val mean = sum * k.real(1.0 / x.features, sum.type());
  return k.real(1, sum.type()) / k.sqrt(mean + k.real(eps, sum.type()));
}

struct RMSNormKernel : CPUKernel<nn::RMSNormOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::RMSNormOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    k.parallel(x.tiles, [&](Val tile) {
      Val r = reciprocalNorm(k, x, tile, op.getEps().convertToDouble());
      k.loop(0, x.features, 1,
             [&](Val f) { y.store(k, x.load(k, tile, f) * r * k.load(op.getGamma(), {f}), tile, f); });
    });
    return success();
  }
};

// dx = r g - x r^3 mean(x g) with g = gamma dy, tile by tile; then dgamma[f] = sum of dy x r, feature by feature, tiles
// in order.
struct RMSNormGradKernel : CPUKernel<nn::RMSNormGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::RMSNormGradOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), dy = Tiles::of(op.getDy()), dx = Tiles::of(op.getDx());
    if (!x || !dy || !dx)
      return failure();
    Value norms = k.workspace({x.tiles, x.lanes}, k.b.getF32Type()).get();
    k.parallel(x.tiles, [&](Val tile) {
      Val r = reciprocalNorm(k, x, tile, op.getEps().convertToDouble());
      k.storeVector(r, norms, {tile, 0});
      Val dot = sumOverFeatures(k, x, [&](Val f, Val sum) {
        return k.fma(x.load(k, tile, f), dy.load(k, tile, f) * k.load(op.getGamma(), {f}), sum);
      });
      Val factor = r * r * r * dot * k.real(1.0 / x.features, r.type());
      k.loop(0, x.features, 1, [&](Val f) {
        Val g = dy.load(k, tile, f) * k.load(op.getGamma(), {f});
        dx.store(k, r * g - x.load(k, tile, f) * factor, tile, f);
      });
    });
    parallelPieces(k, k.index(x.features), 16, [&](Val begin, Val end) {
      k.loop(begin, end, 1, [&](Val f) {
        Val zero = k.zero(k.vectorOf(x.lanes, k.b.getF32Type()));
        Val sum = k.loop(0, x.tiles, 1, {zero}, [&](Val tile, Vals sum) -> Vals {
          Val scaled = x.load(k, tile, f) * k.loadVector(norms, {tile, 0}, x.lanes);
          return {k.fma(dy.load(k, tile, f), scaled, sum[0])};
        })[0];
        k.store(k.sum(sum), op.getDgamma(), {f});
      });
    });
    return success();
  }
};

} // namespace

void smet::populateNormKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<RMSNormKernel, RMSNormGradKernel>(patterns.getContext(), target);
}
