//===- LossKernels.cpp - lm_head and cross-entropy in vocabulary panels ---===//
//
// Logits exist for one panel of the vocabulary and one token tile (forward) or all tiles (gradient) at a time.
//
//===----------------------------------------------------------------------===//
#include "NNKernels.h"

using namespace mlir;
using namespace smet;

namespace {

/// Rows [first, first + rows) of the vocabulary.
using PanelBody = function_ref<void(Val first, int64_t rows)>;

/// All panels of at most `size` rows in order: the full ones in a loop, then the rest.
void forEachPanel(KernelBuilder &k, int64_t vocabulary, int64_t size, PanelBody body) {
  int64_t full = vocabulary / size * size;
  if (full)
    k.loop(0, full, size, [&](Val first) { body(first, size); });
  if (vocabulary % size)
    body(k.index(full), vocabulary % size);
}

/// The same for a loop-carried state.
Vals forEachPanel(KernelBuilder &k, int64_t vocabulary, int64_t size, Vals state,
                  function_ref<Vals(Val first, int64_t rows, Vals state)> body) {
  int64_t full = vocabulary / size * size;
  if (full)
    state = k.loop(0, full, size, state, [&](Val first, Vals s) { return body(first, size, s); });
  if (vocabulary % size)
    state = body(k.index(full), vocabulary % size, state);
  return state;
}

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
  Val vectorZero() const { return k.zero(k.vectorOf(x.lanes, k.b.getF32Type())); }
  Val weightPanel(Val first, int64_t rows) const { return k.matrix(w, {}, first, 0, rows, x.features); }
  Val tileMatrix(const Tiles &tiles, Val tile) const {
    return k.matrix(tiles.memref, {tile}, 0, 0, tiles.features, tiles.lanes);
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
    int64_t panel = std::min<int64_t>(loss.vocabulary, 256);
    Type f32 = k.b.getF32Type(), f64 = k.b.getF64Type();
    Value partials = k.workspace({x.tiles}, f64).get();
    k.parallel(x.tiles, [&](Val tile) {
      Value logits = k.stack({panel, x.lanes}, f32).get(), picked = k.stack({x.lanes}, f32).get();
      k.storeVector(loss.vectorZero(), picked, {0});
      // Running maximum and sum of exponentials, lane by lane.
      Vals state{k.real(-1e30, k.vectorOf(x.lanes, f32)), loss.vectorZero()};
      state = forEachPanel(k, loss.vocabulary, panel, state, [&](Val first, int64_t rows, Vals s) -> Vals {
        k.gemm(loss.weightPanel(first, rows), loss.tileMatrix(x, tile), k.matrix(logits, {}, 0, 0, rows, x.lanes),
               false, false, 1, 0);
        Val top = k.loop(0, rows, 1, {s[0]}, [&](Val row, Vals top) -> Vals {
          return {k.max(top[0], k.loadVector(logits, {row, 0}, x.lanes))};
        })[0];
        Val sum = k.loop(0, rows, 1, {s[1] * k.exp(s[0] - top)}, [&](Val row, Vals sum) -> Vals {
          return {sum[0] + k.exp(k.loadVector(logits, {row, 0}, x.lanes) - top)};
        })[0];
        loss.forEachTarget(tile, first, rows, [&](Val lane, Val row) {
          k.store(k.load(logits, {row, lane}), picked, {lane});
        });
        return {top, sum};
      });
      Val lse = state[0] + k.log(state[1]);
      k.storeVector(lse, op.getLse(), {tile * x.lanes});
      Val terms = k.select(loss.isValid(tile), lse - k.loadVector(picked, {0}, x.lanes), loss.vectorZero());
      k.store(k.sum(k.cast(terms, f64)), partials, {tile});
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
    int64_t panel = std::min<int64_t>(loss.vocabulary, 512);
    Type f32 = k.b.getF32Type();
    Tiles dlogits = Tiles::of(k.workspace({x.tiles, panel, x.lanes}, f32).get());
    Val unit = k.load(op.getDloss(), {}) / k.cast(k.load(op.getNumValid(), {}), f32);
    k.parallel(x.tiles,
               [&](Val tile) { k.loop(0, dx.features, 1, [&](Val f) { dx.store(k, loss.vectorZero(), tile, f); }); });
    forEachPanel(k, loss.vocabulary, panel, [&](Val first, int64_t rows) {
      // dz of the panel, and its share of dx.
      k.parallel(x.tiles, [&](Val tile) {
        Val matrix = k.matrix(dlogits.memref, {tile}, 0, 0, rows, x.lanes);
        k.gemm(loss.weightPanel(first, rows), loss.tileMatrix(x, tile), matrix, false, false, 1, 0);
        Val scale = k.select(loss.isValid(tile), k.broadcast(unit, x.lanes), loss.vectorZero());
        Val lse = k.loadVector(op.getLse(), {tile * x.lanes}, x.lanes);
        k.loop(0, rows, 1,
               [&](Val row) { dlogits.store(k, k.exp(dlogits.load(k, tile, row) - lse) * scale, tile, row); });
        loss.forEachTarget(tile, first, rows, [&](Val lane, Val row) {
          k.store(k.load(dlogits.memref, {tile, row, lane}) - unit, dlogits.memref, {tile, row, lane});
        });
        k.gemm(loss.weightPanel(first, rows), matrix, loss.tileMatrix(dx, tile), true, false, 1, 1);
      });
      // dw of the panel, rows in parallel, tiles in order.
      int64_t chunk = 32, full = rows / chunk, rest = rows % chunk;
      auto accumulate = [&](Val row, int64_t count) {
        auto multiply = [&](Val tile, float beta) {
          k.gemm(k.matrix(dlogits.memref, {tile}, row, 0, count, x.lanes), loss.tileMatrix(x, tile),
                 k.matrix(op.getDw(), {}, first + row, 0, count, x.features), false, true, 1, beta);
        };
        multiply(0, 0);
        k.loop(1, x.tiles, 1, [&](Val tile) { multiply(tile, 1); });
      };
      if (full)
        k.parallel(full, [&](Val i) { accumulate(i * chunk, chunk); });
      if (rest)
        accumulate(k.index(full * chunk), rest);
    });
    return success();
  }
};

} // namespace

void smet::populateLossKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<LinearCrossEntropyKernel, LinearCrossEntropyGradKernel>(patterns.getContext(), target);
}
