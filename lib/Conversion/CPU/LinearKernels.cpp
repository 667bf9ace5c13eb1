//===- LinearKernels.cpp - dense linear layers ----------------------------===//
//
// What is loaded of the weight (a panel of its rows) or of a gradient is used for several token tiles, and what is
// loaded of a tile for all rows of a panel.
//
//===----------------------------------------------------------------------===//
#include "F32Tiles.h"

using namespace mlir;
using namespace smet;

namespace {

/// Token tiles that share what is loaded of the weight: few tiles make smaller groups, so that all threads have some.
int64_t groupOf(const Tiles &x) { return std::clamp<int64_t>(x.tiles / 4, 1, 8); }
/// Rows of the product in a work item: with 128 terms, 128 KiB of the weight.
constexpr int64_t panelRows = 256;

// y[tile] = w x[tile]; a single tile's threads share the rows of w.
struct LinearKernel : CPUKernel<nn::LinearOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    Product product(k, target, x.lanes);
    if (x.tiles == 1)
      forPanels(k, y.features, 2 * productRows, /*parallel=*/true, [&](Val first, int64_t count) {
        F32Tiles xs(k, x, x.features), ys(k, y, count);
        product.multiply(count, x.features, {op.getW(), {}, first}, xs.read(0, 0, x.features), ys.at(0, first));
        ys.write(0, first, count);
      });
    else
      forGroupsOfPanels(k, k.index(x.tiles), groupOf(x), y.features, evenPanel(y.features, panelRows),
                        [&](Val begin, Val end, Val first, int64_t count) {
                          F32Tiles ys(k, y, count, groupOf(x));
                          product.multiplyAll(
                              count, x.features, {op.getW(), {}, first}, begin, end,
                              [&](Val tile) {
                                return Matrix{x.memref, {tile}};
                              },
                              [&](Val tile) { return ys.at(tile, first, tile - begin); });
                          k.loop(begin, end, 1, [&](Val tile) { ys.write(tile, first, count, tile - begin); });
                        });
    return success();
  }
};

// dx[tile] = wᵀ dy[tile]
struct LinearGradInputKernel : CPUKernel<nn::LinearGradInputOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearGradInputOp op, KernelBuilder &k) const final {
    Tiles dy = Tiles::of(op.getDy()), dx = Tiles::of(op.getDx());
    if (!dy || !dx)
      return failure();
    Product product(k, target, dx.lanes);
    forGroupsOfPanels(k, k.index(dx.tiles), groupOf(dx), dx.features, evenPanel(dx.features, panelRows),
                      [&](Val begin, Val end, Val first, int64_t count) {
                        F32Tiles dxs(k, dx, count, groupOf(dx));
                        product.multiplyAll(
                            count, dy.features, {op.getW(), {}, 0, first, /*transposed=*/true}, begin, end,
                            [&](Val tile) {
                              return Matrix{dy.memref, {tile}};
                            },
                            [&](Val tile) { return dxs.at(tile, first, tile - begin); });
                        k.loop(begin, end, 1, [&](Val tile) { dxs.write(tile, first, count, tile - begin); });
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
    product.emit(inF32(k, dy), k.index(0), k.index(x.tiles), dy.features, op.getDw());
    return success();
  }
};

} // namespace

void smet::populateLinearKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<LinearKernel, LinearGradInputKernel, LinearGradWeightKernel>(patterns.getContext(), target);
}
