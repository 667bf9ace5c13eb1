//===- LossKernels.cpp - lm_head and cross-entropy in panels and chunks ---===//
//
// Without a gradient, logits exist for one panel of the vocabulary and one token tile at a time. With it they are kept
// for a chunk of tiles, over the whole vocabulary: lm_head is then multiplied once, not again for the gradient.
//
//===----------------------------------------------------------------------===//
#include "F32Tiles.h"

using namespace mlir;
using namespace smet;

namespace {

/// What forward and gradient share: the operands and the parts of the work on one tile.
struct Loss {
  KernelBuilder &k;
  const CPUTarget &target;
  Tiles x;
  Value w, targets, numValid;
  int64_t vocabulary;

  template <typename OpT>
  Loss(OpT op, KernelBuilder &k, const CPUTarget &target)
      : k(k), target(target), x(Tiles::of(op.getX())), w(op.getW()), targets(op.getTargets()),
        numValid(op.getNumValid()), vocabulary(cast<MemRefType>(w.getType()).getDimSize(0)) {}

  bool valid() const {
    return x && vocabulary > 0 && cast<MemRefType>(targets.getType()).getDimSize(0) == x.tiles * x.lanes &&
           cast<MemRefType>(w.getType()).getElementType().isF32();
  }
  /// Rows of a panel of the vocabulary: the logits of eight tiles are 256 KiB.
  int64_t panelRows() const { return evenPanel(vocabulary, 128); }
  VectorType vector() const { return k.vectorOf(x.lanes, k.b.getF32Type()); }
  Val vectorZero() const { return k.zero(vector()); }
  Val lowest() const { return k.real(-1e30, vector()); }
  /// The logits of a panel's rows and a tile.
  void multiply(Val first, int64_t rows, Val tile, const Matrix &logits) const {
    F32Tiles xs(k, x, x.features);
    Product(k, target, x.lanes).multiply(rows, x.features, {w, {}, first}, xs.read(tile, 0, x.features), logits);
  }
  /// Maximum, and sum of exponentials below it, of the logits so far and those of `rows` more, lane by lane. The latter
  /// are summed apart first: one sum over a large vocabulary would lose digits.
  std::pair<Val, Val> extend(Val top, Val sum, const Matrix &logits, int64_t rows) const {
    auto load = [&](Val row) { return k.loadVector(logits.memref, logits.at(row, k.index(0)), x.lanes); };
    Val larger = k.loop(0, rows, 1, {top}, [&](Val row, Vals top) -> Vals { return {k.max(top[0], load(row))}; })[0];
    Val more = k.loop(0, rows, 1, {vectorZero()},
                      [&](Val row, Vals sum) -> Vals { return {sum[0] + k.exp(load(row) - larger)}; })[0];
    return {larger, k.fma(sum, k.exp(top - larger), more)};
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
  /// Stores a tile's share of the loss, in double; `picked` are the targets' logits.
  void storePartial(Val tile, Val lse, Val picked, Value partials) const {
    Val terms = k.select(isValid(tile), lse - picked, vectorZero());
    k.store(k.sum(k.cast(terms, k.b.getF64Type())), partials, {tile});
  }
  /// The mean over the valid targets, tiles in order.
  void storeLoss(Value partials, Value loss) const {
    Type f64 = k.b.getF64Type();
    Val sum = k.loop(0, x.tiles, 1, {k.zero(f64)},
                     [&](Val tile, Vals sum) -> Vals { return {sum[0] + k.load(partials, {tile})}; })[0];
    k.store(k.cast(sum / k.cast(k.load(numValid, {}), f64), k.b.getF32Type()), loss, {});
  }
};

struct LinearCrossEntropyKernel : CPUKernel<nn::LinearCrossEntropyOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyOp op, KernelBuilder &k) const final {
    Loss loss(op, k, target);
    if (!loss.valid())
      return failure();
    const Tiles &x = loss.x;
    int64_t size = std::clamp<int64_t>(x.tiles / 8, 1, 4), panel = loss.panelRows();
    Type f32 = k.b.getF32Type();
    Value partials = k.workspace({x.tiles}, k.b.getF64Type()).get();
    parallelPieces(k, k.index(x.tiles), size, [&](Val begin, Val end) {
      Value logits = k.stack({panel, x.lanes}, f32).get();
      // Of every tile: running maximum, sum of exponentials and the target's logit, lane by lane.
      Value tops = k.stack({size, x.lanes}, f32).get(), sums = k.stack({size, x.lanes}, f32).get();
      Value picked = k.stack({size, x.lanes}, f32).get();
      auto load = [&](Value array, Val i) { return k.loadVector(array, {i, 0}, x.lanes); };
      k.loop(0, size, 1, [&](Val i) {
        k.storeVector(loss.lowest(), tops, {i, 0});
        k.storeVector(loss.vectorZero(), sums, {i, 0});
        k.storeVector(loss.vectorZero(), picked, {i, 0});
      });
      forPanels(k, loss.vocabulary, panel, /*parallel=*/false, [&](Val first, int64_t rows) {
        k.loop(begin, end, 1, [&](Val tile) {
          Val i = tile - begin;
          loss.multiply(first, rows, tile, {logits});
          auto [top, sum] = loss.extend(load(tops, i), load(sums, i), {logits}, rows);
          k.storeVector(top, tops, {i, 0});
          k.storeVector(sum, sums, {i, 0});
          loss.forEachTarget(tile, first, rows, [&](Val lane, Val row) {
            k.store(k.load(logits, {row, lane}), picked, {i, lane});
          });
        });
      });
      k.loop(begin, end, 1, [&](Val tile) {
        Val i = tile - begin, lse = load(tops, i) + k.log(load(sums, i));
        k.storeVector(lse, op.getLse(), {tile * x.lanes});
        loss.storePartial(tile, lse, load(picked, i), partials);
      });
    });
    loss.storeLoss(partials, op.getLoss());
    return success();
  }
};

/// The gradient, chunk of tiles by chunk.
class Gradient {
public:
  Gradient(const Loss &loss, Value dloss, const Tiles &dx, Value dw)
      : loss(loss), k(loss.k), x(loss.x), dx(dx), dw(dw), outer(k, loss.target, x) {
    // 64 MiB of logits. More tiles would save passes over dw, of which there is one a chunk.
    int64_t chunk = std::clamp<int64_t>((int64_t(1) << 24) / (loss.vocabulary * x.lanes), 1, x.tiles);
    z = Tiles::of(k.workspace({chunk, loss.vocabulary, x.lanes}, k.b.getF32Type()).get());
    unit = k.load(dloss, {}) / k.cast(k.load(loss.numValid, {}), k.b.getF32Type());
  }

  /// body(begin, end) for every chunk of tiles, in order.
  void forChunks(function_ref<void(Val, Val)> body) const {
    k.loop(0, x.tiles, z.tiles, [&](Val begin) { body(begin, k.min(begin + z.tiles, k.index(x.tiles))); });
  }

  /// The logits of a chunk, and then(i, first, rows) for its every tile i and panel.
  void multiply(Val begin, Val end, function_ref<void(Val, Val, int64_t)> then) const {
    Product product(k, loss.target, x.lanes);
    forPanels(k, loss.vocabulary, loss.panelRows(), /*parallel=*/true, [&](Val first, int64_t rows) {
      product.multiplyAll(
          rows, x.features, {loss.w, {}, first}, 0, end - begin,
          [&](Val i) {
            return Matrix{x.memref, {begin + i}};
          },
          [&](Val i) { return logits(i, first); });
      k.loop(0, end - begin, 1, [&](Val i) { then(i, first, rows); });
    });
  }

  /// Of tile i of a chunk, from a row of the vocabulary.
  Matrix logits(Val i, Val first) const { return {z.memref, {i}, first}; }

  /// dz instead of the logits; lse is [T].
  void differentiate(Val begin, Val end, Value lse) const {
    forPanels(k, loss.vocabulary, loss.panelRows(), /*parallel=*/true, [&](Val first, int64_t rows) {
      k.loop(0, end - begin, 1, [&](Val i) {
        Val tile = begin + i, norm = k.loadVector(lse, {tile * x.lanes}, x.lanes);
        Val scale = k.select(loss.isValid(tile), k.broadcast(unit, x.lanes), loss.vectorZero());
        k.loop(first, first + rows, 1, [&](Val row) { z.store(k, k.exp(z.load(k, i, row) - norm) * scale, i, row); });
        loss.forEachTarget(tile, first, rows, [&](Val lane, Val row) {
          Vals at{i, first + row, lane};
          k.store(k.load(z.memref, at) - unit, z.memref, at);
        });
      });
    });
  }

  /// The chunk's share of dw, and its dx.
  void accumulate(Val begin, Val end) const {
    outer.emit(z, begin, end, loss.vocabulary, dw);
    Product product(k, loss.target, x.lanes);
    // 128 features of eight tiles and of 128 rows of the weight are 320 KiB.
    constexpr int64_t group = 8;
    forGroupsOfPanels(k, end - begin, group, x.features, evenPanel(x.features, 128),
                      [&](Val first, Val last, Val feature, int64_t features) {
                        F32Tiles dxs(k, dx, features, group);
                        product.multiplyAll(
                            features, loss.vocabulary, {loss.w, {}, 0, feature, /*transposed=*/true}, first, last,
                            [&](Val i) { return logits(i, 0); },
                            [&](Val i) { return dxs.at(begin + i, feature, i - first); });
                        k.loop(first, last, 1, [&](Val i) { dxs.write(begin + i, feature, features, i - first); });
                      });
  }

private:
  const Loss &loss;
  KernelBuilder &k;
  const Tiles &x;
  Tiles dx, z; ///< z: logits of a chunk, [chunk, vocabulary, lanes]
  Value dw;
  OuterProduct outer;
  Val unit; ///< dloss / num_valid
};

struct LinearCrossEntropyGradKernel : CPUKernel<nn::LinearCrossEntropyGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyGradOp op, KernelBuilder &k) const final {
    Loss loss(op, k, target);
    Tiles dx = Tiles::of(op.getDx());
    if (!loss.valid() || !dx)
      return failure();
    Gradient gradient(loss, op.getDloss(), dx, op.getDw());
    gradient.forChunks([&](Val begin, Val end) {
      gradient.multiply(begin, end, [](Val, Val, int64_t) {});
      gradient.differentiate(begin, end, op.getLse());
      gradient.accumulate(begin, end);
    });
    return success();
  }
};

struct LinearCrossEntropyWithGradKernel : CPUKernel<nn::LinearCrossEntropyWithGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyWithGradOp op, KernelBuilder &k) const final {
    Loss loss(op, k, target);
    Tiles dx = Tiles::of(op.getDx());
    if (!loss.valid() || !dx)
      return failure();
    const Tiles &x = loss.x;
    Type f32 = k.b.getF32Type();
    int64_t panel = loss.panelRows(), panels = llvm::divideCeil(loss.vocabulary, panel);
    Value partials = k.workspace({x.tiles}, k.b.getF64Type()).get();
    Value lse = k.workspace({x.tiles * x.lanes}, f32).get();
    // Maximum and sum of exponentials of every panel and tile.
    Value tops = k.workspace({panels, x.tiles, x.lanes}, f32).get();
    Value sums = k.workspace({panels, x.tiles, x.lanes}, f32).get();
    Gradient gradient(loss, op.getDloss(), dx, op.getDw());
    gradient.forChunks([&](Val begin, Val end) {
      gradient.multiply(begin, end, [&](Val i, Val first, int64_t rows) {
        auto [top, sum] = loss.extend(loss.lowest(), loss.vectorZero(), gradient.logits(i, first), rows);
        k.storeVector(top, tops, {first / panel, begin + i, 0});
        k.storeVector(sum, sums, {first / panel, begin + i, 0});
      });
      k.parallel(end - begin, [&](Val i) {
        Val tile = begin + i;
        auto load = [&](Value array, Val p) { return k.loadVector(array, {p, tile, 0}, x.lanes); };
        Vals total = k.loop(0, panels, 1, {loss.lowest(), loss.vectorZero()}, [&](Val p, Vals s) -> Vals {
          Val top = k.max(s[0], load(tops, p));
          return {top, s[1] * k.exp(s[0] - top) + load(sums, p) * k.exp(load(tops, p) - top)};
        });
        Val norm = total[0] + k.log(total[1]);
        k.storeVector(norm, lse, {tile * x.lanes});
        Value picked = k.stack({x.lanes}, f32).get();
        k.storeVector(loss.vectorZero(), picked, {0});
        Matrix logits = gradient.logits(i, 0);
        loss.forEachTarget(tile, 0, loss.vocabulary, [&](Val lane, Val row) {
          k.store(k.load(logits.memref, logits.at(row, lane)), picked, {lane});
        });
        loss.storePartial(tile, norm, k.loadVector(picked, {0}, x.lanes), partials);
      });
      gradient.differentiate(begin, end, lse);
      gradient.accumulate(begin, end);
    });
    loss.storeLoss(partials, op.getLoss());
    return success();
  }
};

} // namespace

void smet::populateLossKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<LinearCrossEntropyKernel, LinearCrossEntropyGradKernel, LinearCrossEntropyWithGradKernel>(
      patterns.getContext(), target);
}
