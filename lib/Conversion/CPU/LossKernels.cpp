//===- LossKernels.cpp - lm_head and cross-entropy in vocabulary panels ---===//
//
// Logits exist for one panel of the vocabulary and one token tile (forward) or all tiles (gradient) at a time.
//
//===----------------------------------------------------------------------===//
#include "Products.h"

using namespace mlir;
using namespace smet;

namespace {

/// What forward and gradient share: the operands and the parts of the work on one tile.
struct Loss {
  KernelBuilder &k;
  Tiles x;
  Value w, targets;
  int64_t vocabulary;

  Loss(KernelBuilder &k, Value x, Value w, Value targets)
      : k(k), x(Tiles::of(x)), w(w), targets(targets), vocabulary(cast<MemRefType>(w.getType()).getDimSize(0)) {}

  bool valid() const {
    return x && vocabulary > 0 && cast<MemRefType>(targets.getType()).getDimSize(0) == x.tiles * x.lanes &&
           cast<MemRefType>(w.getType()).getElementType().isF32();
  }
  /// Rows of a panel of the vocabulary: at most 1 MiB of the weight, half of a common second-level cache.
  int64_t panelRows() const {
    return std::min(vocabulary, std::clamp<int64_t>((1 << 18) / x.features, 16 * productRows, 512));
  }
  Val vectorZero() const { return k.zero(k.vectorOf(x.lanes, k.b.getF32Type())); }
  /// The logits of a panel's rows and a tile.
  void multiply(const Product &product, Val first, int64_t rows, Val tile, const Matrix &logits) const {
    product.emit(rows, x.features, {w, {}, first}, {x.memref, {tile}}, logits);
  }
  /// Lanes whose target counts.
  Val isValid(Val tile) const {
    Val target = k.loadVector(targets, {tile * x.lanes}, x.lanes);
    return k.compare(KernelBuilder::Compare::lt, target, k.integer(std::numeric_limits<int32_t>::min(), target.type()));
  }
  /// body(lane, row) for every lane of a tile whose target is a row of the panel.
  void forEachTarget(Val tile, Val first, int64_t rows, function_ref<void(Val, Val)> body) const {
    k.loop(0, x.lanes, 1, [&](Val lane) {
      // Ignored targets are negative, so as unsigned numbers beyond every panel.
      Val row = k.toIndex(k.load(targets, {tile * x.lanes + lane})) - first;
      k.ifThen(k.compare(KernelBuilder::Compare::lt, row, k.index(rows)), [&] { body(lane, row); });
    });
  }
};

struct LinearCrossEntropyKernel : CPUKernel<nn::LinearCrossEntropyOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyOp op, KernelBuilder &k) const final {
    Loss loss(k, op.getX(), op.getW(), op.getTargets());
    if (!loss.valid())
      return failure();
    const Tiles &x = loss.x;
    int64_t panel = loss.panelRows();
    Type f32 = k.b.getF32Type(), f64 = k.b.getF64Type();
    Value partials = k.workspace({x.tiles}, f64).get();
    Product product(k, target, x.lanes);
    parallelGroups(k, x, [&](Val begin, Val end) {
      int64_t size = groupOf(x);
      Value logits = k.stack({panel, x.lanes}, f32).get();
      // Of every tile: running maximum, sum of exponentials and the target's logit, lane by lane.
      Value tops = k.stack({size, x.lanes}, f32).get(), sums = k.stack({size, x.lanes}, f32).get();
      Value picked = k.stack({size, x.lanes}, f32).get();
      k.loop(0, size, 1, [&](Val i) {
        k.storeVector(k.real(-1e30, k.vectorOf(x.lanes, f32)), tops, {i, 0});
        k.storeVector(loss.vectorZero(), sums, {i, 0});
        k.storeVector(loss.vectorZero(), picked, {i, 0});
      });
      forPanels(k, loss.vocabulary, panel, /*parallel=*/false, [&](Val first, int64_t rows) {
        k.loop(begin, end, 1, [&](Val tile) {
          Val i = tile - begin, before = k.loadVector(tops, {i, 0}, x.lanes);
          loss.multiply(product, first, rows, tile, {logits});
          Val top = k.loop(0, rows, 1, {before}, [&](Val row, Vals top) -> Vals {
            return {k.max(top[0], k.loadVector(logits, {row, 0}, x.lanes))};
          })[0];
          Val sum = k.loadVector(sums, {i, 0}, x.lanes) * k.exp(before - top);
          sum = k.loop(0, rows, 1, {sum}, [&](Val row, Vals sum) -> Vals {
            return {sum[0] + k.exp(k.loadVector(logits, {row, 0}, x.lanes) - top)};
          })[0];
          k.storeVector(top, tops, {i, 0});
          k.storeVector(sum, sums, {i, 0});
          loss.forEachTarget(tile, first, rows, [&](Val lane, Val row) {
            k.store(k.load(logits, {row, lane}), picked, {i, lane});
          });
        });
      });
      k.loop(begin, end, 1, [&](Val tile) {
        Val i = tile - begin;
        Val lse = k.loadVector(tops, {i, 0}, x.lanes) + k.log(k.loadVector(sums, {i, 0}, x.lanes));
        k.storeVector(lse, op.getLse(), {tile * x.lanes});
        Val terms = k.select(loss.isValid(tile), lse - k.loadVector(picked, {i, 0}, x.lanes), loss.vectorZero());
        k.store(k.sum(k.cast(terms, f64)), partials, {tile});
      });
    });
    Val sum = k.loop(0, x.tiles, 1, {k.zero(f64)},
                     [&](Val tile, Vals sum) -> Vals { return {sum[0] + k.load(partials, {tile})}; })[0];
    Val count = k.cast(k.load(op.getNumValid(), {}), f64);
    k.store(k.cast(sum / count, f32), op.getLoss(), {});
    return success();
  }
};

struct LinearCrossEntropyGradKernel : CPUKernel<nn::LinearCrossEntropyGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyGradOp op, KernelBuilder &k) const final {
    Loss loss(k, op.getX(), op.getW(), op.getTargets());
    Tiles dx = Tiles::of(op.getDx());
    if (!loss.valid() || !dx)
      return failure();
    const Tiles &x = loss.x;
    int64_t panel = loss.panelRows();
    Type f32 = k.b.getF32Type();
    Tiles dlogits = Tiles::of(k.workspace({x.tiles, panel, x.lanes}, f32).get());
    Val unit = k.load(op.getDloss(), {}) / k.cast(k.load(op.getNumValid(), {}), f32);
    Product product(k, target, x.lanes);
    OuterProduct outer(k, target, x);
    forPanels(k, loss.vocabulary, panel, /*parallel=*/false, [&](Val first, int64_t rows) {
      // dz of the panel, and its share of dx.
      k.parallel(x.tiles, [&](Val tile) {
        Matrix matrix{dlogits.memref, {tile}};
        loss.multiply(product, first, rows, tile, matrix);
        Val scale = k.select(loss.isValid(tile), k.broadcast(unit, x.lanes), loss.vectorZero());
        Val lse = k.loadVector(op.getLse(), {tile * x.lanes}, x.lanes);
        k.loop(0, rows, 1,
               [&](Val row) { dlogits.store(k, k.exp(dlogits.load(k, tile, row) - lse) * scale, tile, row); });
        loss.forEachTarget(tile, first, rows, [&](Val lane, Val row) {
          k.store(k.load(dlogits.memref, {tile, row, lane}) - unit, dlogits.memref, {tile, row, lane});
        });
        product.emit(dx.features, rows, {loss.w, {}, first, 0, /*transposed=*/true}, matrix, {dx.memref, {tile}},
                     /*before=*/first);
      });
      outer.emit(dlogits, rows, op.getDw(), first);
    });
    return success();
  }
};

} // namespace

void smet::populateLossKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<LinearCrossEntropyKernel, LinearCrossEntropyGradKernel>(patterns.getContext(), target);
}
