//===- LinearKernels.cpp - dense linear layers ----------------------------===//
//
// What is loaded of the weight (a panel of its rows) or of a gradient is used for several token tiles, and what is
// loaded of a tile for all rows of a panel.
//
//===----------------------------------------------------------------------===//
#include "Products.h"

using namespace mlir;
using namespace smet;

namespace {

// y[tile] = w x[tile]; a single tile's threads share the rows of w.
struct LinearKernel : CPUKernel<nn::LinearOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    Product product(k, target, x.lanes);
    auto rows = [&](Val tile, Val first, int64_t count) {
      product.emit(count, x.features, {op.getW(), {}, first}, {x.memref, {tile}}, {y.memref, {tile}, first});
    };
    if (x.tiles == 1)
      forPanels(k, y.features, 2 * productRows, /*parallel=*/true,
                [&](Val first, int64_t count) { rows(0, first, count); });
    else
      parallelGroups(k, x, [&](Val begin, Val end) {
        // 512 KiB of the weight.
        int64_t panel = evenPanel(y.features, std::max<int64_t>((1 << 17) / x.features, 8 * productRows));
        forPanels(k, y.features, panel, /*parallel=*/false, [&](Val first, int64_t count) {
          k.loop(begin, end, 1, [&](Val tile) { rows(tile, first, count); });
        });
      });
    return success();
  }
};

// dx[tile] = sum over panels of w[panel]ᵀ dy[tile][panel], part by part of its features.
struct LinearGradInputKernel : CPUKernel<nn::LinearGradInputOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearGradInputOp op, KernelBuilder &k) const final {
    Tiles dy = Tiles::of(op.getDy()), dx = Tiles::of(op.getDx());
    if (!dy || !dx)
      return failure();
    Product product(k, target, dx.lanes);
    parallelGroups(k, dx, [&](Val begin, Val end) {
      // 512 features of four tiles are 512 KiB, 128 rows of the weight 256 KiB.
      forPanels(k, dx.features, evenPanel(dx.features, 512), /*parallel=*/false, [&](Val feature, int64_t features) {
        forPanels(k, dy.features, productDepth, /*parallel=*/false, [&](Val first, int64_t count) {
          k.loop(begin, end, 1, [&](Val tile) {
            product.emit(features, count, {op.getW(), {}, first, feature, /*transposed=*/true},
                         {dy.memref, {tile}, first}, {dx.memref, {tile}, feature}, /*before=*/first);
          });
        });
      });
    });
    return success();
  }
};

struct LinearGradWeightKernel : CPUKernel<nn::LinearGradWeightOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearGradWeightOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), dy = Tiles::of(op.getDy());
    if (!x || !dy)
      return failure();
    OuterProduct product(k, target, x);
    product.emit(dy, k.index(0), k.index(x.tiles), dy.features, op.getDw());
    return success();
  }
};

} // namespace

void smet::populateLinearKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<LinearKernel, LinearGradInputKernel, LinearGradWeightKernel>(patterns.getContext(), target);
}
