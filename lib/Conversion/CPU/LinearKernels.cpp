//===- LinearKernels.cpp - dense linear layers by the GEMM provider -------===//
#include "NNKernels.h"

using namespace mlir;
using namespace smet;

namespace {

/// body(first, rows) over the rows of a matrix: full panels in parallel, then the rest.
void parallelPanels(KernelBuilder &k, int64_t rows, int64_t panel, function_ref<void(Val, int64_t)> body) {
  int64_t full = rows / panel, rest = rows % panel;
  if (full)
    k.parallel(full, [&](Val i) { body(i * panel, panel); });
  if (rest)
    body(k.index(full * panel), rest);
}

// y[tile] = w x[tile]; a single token's threads share the rows of w.
struct LinearKernel : CPUKernel<nn::LinearOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    auto rows = [&](Val tile, Val first, int64_t count) {
      k.gemm(k.matrix(op.getW(), {}, first, 0, count, x.features),
             k.matrix(x.memref, {tile}, 0, 0, x.features, x.lanes),
             k.matrix(y.memref, {tile}, first, 0, count, y.lanes), false, false, 1, 0);
    };
    if (x.tiles == 1)
      parallelPanels(k, y.features, 256, [&](Val first, int64_t count) { rows(0, first, count); });
    else
      k.parallel(x.tiles, [&](Val tile) { rows(tile, 0, y.features); });
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
    k.parallel(dx.tiles, [&](Val tile) {
      k.gemm(k.wrap(op.getW()), k.matrix(dy.memref, {tile}, 0, 0, dy.features, dy.lanes),
             k.matrix(dx.memref, {tile}, 0, 0, dx.features, dx.lanes), true, false, 1, 0);
    });
    return success();
  }
};

// dw[rows] = sum over tiles of dy[tile][rows] x[tile]ᵀ, panel of rows by panel, tiles in order.
struct LinearGradWeightKernel : CPUKernel<nn::LinearGradWeightOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearGradWeightOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), dy = Tiles::of(op.getDy());
    if (!x || !dy)
      return failure();
    parallelPanels(k, dy.features, 64, [&](Val first, int64_t count) {
      auto multiply = [&](Val tile, float beta) {
        k.gemm(k.matrix(dy.memref, {tile}, first, 0, count, dy.lanes),
               k.matrix(x.memref, {tile}, 0, 0, x.features, x.lanes),
               k.matrix(op.getDw(), {}, first, 0, count, x.features), false, true, 1, beta);
      };
      multiply(0, 0);
      k.loop(1, x.tiles, 1, [&](Val tile) { multiply(tile, 1); });
    });
    return success();
  }
};

} // namespace

void smet::populateLinearKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<LinearKernel, LinearGradInputKernel, LinearGradWeightKernel>(patterns.getContext(), target);
}
