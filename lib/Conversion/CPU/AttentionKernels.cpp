//===- AttentionKernels.cpp - causal attention on token tiles -------------===//
//
// A tile of queries sits in lanes and keys are broadcast, so that scores, softmax and products are vectors over lanes.
// Probabilities exist for one pair of tiles at a time; the gradient recomputes them from the log-sum-exp.
//
//===----------------------------------------------------------------------===//
#include "F32Tiles.h"

#include <cmath>

using namespace mlir;
using namespace smet;

namespace {

/// Heads and tiles of an attention op.
struct Shape {
  int64_t heads, kvHeads, headDim, lanes, tiles, tilesPerSequence;
  double scale;

  int64_t sequences() const { return tiles / tilesPerSequence; }
  int64_t groupSize() const { return heads / kvHeads; }

  template <typename OpT> static FailureOr<Shape> of(OpT op) {
    Tiles q = Tiles::of(op.getQ());
    int64_t seqLen = op.getSeqLen();
    if (!q || seqLen % q.lanes)
      return failure();
    int64_t headDim = q.features / op.getNumHeads();
    return Shape{static_cast<int64_t>(op.getNumHeads()),
                 static_cast<int64_t>(op.getNumKvHeads()),
                 headDim,
                 q.lanes,
                 q.tiles,
                 seqLen / q.lanes,
                 1 / std::sqrt(static_cast<double>(headDim))};
  }
};

/// Emits the pieces shared by the passes.
struct Attention {
  KernelBuilder &k;
  Shape shape;
  Product product; ///< with the tile's lanes

  Type vector() const { return k.vectorOf(shape.lanes, k.b.getF32Type()); }
  Val zero() const { return k.zero(vector()); }

  /// 0, 1, ..., lanes - 1 as i32.
  Val laneNumbers() const { return k.iota(shape.lanes, k.b.getI32Type()); }
  Val asLaneNumber(Val index) const { return k.broadcast(k.fromIndex(index, k.b.getI32Type()), shape.lanes); }

  /// s[row][lane] = scale * sum over d of broadcast[d][row] * inLanes[d][lane] into `scores`.
  void scores(const Matrix &broadcast, const Matrix &inLanes, Value scores, double scale) const {
    product.emit(
        shape.lanes, {0, 1, shape.headDim},
        [&](Val row, Val, Val d) { return k.load(broadcast.memref, broadcast.at(d, row)); },
        [&](Val, Val d, Val lane) { return k.loadVector(inLanes.memref, inLanes.at(d, lane), product.piece); },
        [&](Val row, Val lane, Vals sums) {
          for (auto [r, sum] : llvm::enumerate(sums))
            k.storeVector(sum * k.real(scale, sum.type()), scores, {row + k.index(r), lane});
        });
  }

  /// out[d][lane] += sum over rows of broadcast[d][row] * p[row][lane].
  void accumulate(const Matrix &broadcast, Value p, const Matrix &out) const {
    product.multiply(shape.headDim, shape.lanes, broadcast, {p}, out, /*before=*/1);
  }

  Val load(const Matrix &part, Val d) const { return k.loadVector(part.memref, part.at(d, k.index(0)), shape.lanes); }
  void store(Val value, const Matrix &part, Val d) const { k.storeVector(value, part.memref, part.at(d, k.index(0))); }
  void clear(const Matrix &out) const {
    k.loop(0, shape.headDim, 1, [&](Val d) { store(zero(), out, d); });
  }

  /// `otherwise` where `hidden` and the tiles are the same one, else `value`.
  Val mask(Val sameTile, Val hidden, Val value, Val otherwise) const {
    return k.select(k.bitAnd(hidden, sameTile), otherwise, value);
  }
};

struct AttentionKernel : CPUKernel<nn::AttentionOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::AttentionOp op, KernelBuilder &k) const final {
    auto shape = Shape::of(op);
    Tiles q = Tiles::of(op.getQ()), keys = Tiles::of(op.getK()), values = Tiles::of(op.getV()),
          o = Tiles::of(op.getO());
    if (failed(shape) || !keys || !values || !o)
      return failure();
    Attention a{k, *shape, Product(k, target, shape->lanes)};
    int64_t lanes = shape->lanes;
    Type f32 = k.b.getF32Type();
    k.parallel(shape->tiles * shape->heads, [&](Val item) {
      Val tile = item / shape->heads, head = item % shape->heads;
      Val f = head * shape->headDim, g = (head / shape->groupSize()) * shape->headDim;
      Val first = tile / shape->tilesPerSequence * shape->tilesPerSequence;
      Value p = k.stack({lanes, lanes}, f32).get();
      F32Tiles qPart(k, q, shape->headDim), kPart(k, keys, shape->headDim), vPart(k, values, shape->headDim),
          oPart(k, o, shape->headDim);
      Matrix query = qPart.read(tile, f, shape->headDim), out = oPart.at(tile, f);
      Val numbers = a.laneNumbers();
      a.clear(out);
      // Online softmax over the key tiles: running maximum and sum.
      Vals state{k.real(-1e30, a.vector()), a.zero()};
      state = k.loop(first, tile + 1, 1, state, [&](Val keyTile, Vals s) -> Vals {
        a.scores(kPart.read(keyTile, g, shape->headDim), query, p, shape->scale);
        Val same = k.compare(KernelBuilder::Compare::eq, keyTile, tile);
        Val top = k.loop(0, lanes, 1, {s[0]}, [&](Val row, Vals top) -> Vals {
          Val hidden = k.compare(KernelBuilder::Compare::gt, a.asLaneNumber(row), numbers);
          Val score = a.mask(same, hidden, k.loadVector(p, {row, 0}, lanes), k.real(-1e30, a.vector()));
          k.storeVector(score, p, {row, 0});
          return {k.max(top[0], score)};
        })[0];
        Val correction = k.exp(s[0] - top);
        Val sum = k.loop(0, lanes, 1, {s[1] * correction}, [&](Val row, Vals sum) -> Vals {
          Val e = k.exp(k.loadVector(p, {row, 0}, lanes) - top);
          k.storeVector(e, p, {row, 0});
          return {sum[0] + e};
        })[0];
        k.loop(0, shape->headDim, 1, [&](Val d) { a.store(a.load(out, d) * correction, out, d); });
        a.accumulate(vPart.read(keyTile, g, shape->headDim), p, out);
        return {top, sum};
      });
      Val inverse = k.real(1, a.vector()) / state[1];
      k.loop(0, shape->headDim, 1, [&](Val d) { o.store(k, a.load(out, d) * inverse, tile, f + d); });
      k.storeVector(state[0] + k.log(state[1]), op.getLse(), {head, tile * lanes});
    });
    return success();
  }
};

// A work item is a sequence and a kv head, so that dk and dv have one writer as well as dq: scores and dp, with queries
// in lanes, are computed once and transposed for dk and dv, whose lanes are keys.
struct AttentionGradKernel : CPUKernel<nn::AttentionGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::AttentionGradOp op, KernelBuilder &k) const final {
    auto shape = Shape::of(op);
    Tiles q = Tiles::of(op.getQ()), keys = Tiles::of(op.getK()), values = Tiles::of(op.getV());
    Tiles o = Tiles::of(op.getO()), dO = Tiles::of(op.getDo_());
    Tiles dq = Tiles::of(op.getDq()), dk = Tiles::of(op.getDk()), dv = Tiles::of(op.getDv());
    if (failed(shape) || !keys || !values || !o || !dO || !dq || !dk || !dv)
      return failure();
    Attention a{k, *shape, Product(k, target, shape->lanes)};
    int64_t lanes = shape->lanes, headDim = shape->headDim;
    Type f32 = k.b.getF32Type();
    // Sums over all queries of a sequence, whose length is not bounded.
    auto sumsOf = [&](const Tiles &gradient) {
      bool inPlace = isF32(gradient.memref);
      return inPlace ? gradient : Tiles::of(k.workspace({gradient.tiles, gradient.features, lanes}, f32).get());
    };
    Tiles dkSums = sumsOf(dk), dvSums = sumsOf(dv);

    k.parallel(shape->sequences() * shape->kvHeads, [&](Val item) {
      Val kvHead = item % shape->kvHeads, g = kvHead * shape->headDim;
      Val begin = item / shape->kvHeads * shape->tilesPerSequence, end = begin + shape->tilesPerSequence;
      Value p = k.stack({lanes, lanes}, f32).get(), ds = k.stack({lanes, lanes}, f32).get();
      Value turned = k.stack({lanes, lanes}, f32).get();
      F32Tiles qPart(k, q, headDim), kPart(k, keys, headDim), vPart(k, values, headDim), doPart(k, dO, headDim),
          dqPart(k, dq, headDim);
      k.loop(begin, end, 1, [&](Val tile) {
        a.clear({dkSums.memref, {tile}, g});
        a.clear({dvSums.memref, {tile}, g});
      });
      k.loop(kvHead * shape->groupSize(), (kvHead + 1) * shape->groupSize(), 1, [&](Val head) {
        Val f = head * shape->headDim;
        k.loop(begin, end, 1, [&](Val tile) {
          Val delta = k.loop(0, shape->headDim, 1, {a.zero()}, [&](Val d, Vals sum) -> Vals {
            return {k.fma(o.load(k, tile, f + d), dO.load(k, tile, f + d), sum[0])};
          })[0];
          Val norm = k.loadVector(op.getLse(), {head, tile * lanes}, lanes), numbers = a.laneNumbers();
          Matrix query = qPart.read(tile, f, headDim), dOut = doPart.read(tile, f, headDim),
                 dQuery = dqPart.at(tile, f);
          a.clear(dQuery);
          k.loop(begin, tile + 1, 1, [&](Val keyTile) {
            Matrix key = kPart.read(keyTile, g, headDim);
            a.scores(key, query, p, shape->scale);
            a.scores(vPart.read(keyTile, g, headDim), dOut, ds, 1);
            Val same = k.compare(KernelBuilder::Compare::eq, keyTile, tile);
            // delta = do . o; ds = scale p (dp - delta)
            k.loop(0, lanes, 1, [&](Val row) {
              Val hidden = k.compare(KernelBuilder::Compare::gt, a.asLaneNumber(row), numbers);
              Val probability = a.mask(same, hidden, k.exp(k.loadVector(p, {row, 0}, lanes) - norm), a.zero());
              Val scaled = probability * k.real(shape->scale, a.vector());
              k.storeVector(probability, p, {row, 0});
              k.storeVector(scaled * (k.loadVector(ds, {row, 0}, lanes) - delta), ds, {row, 0});
            });
            a.accumulate(key, ds, dQuery);
            transpose(k, target, k.index(lanes), lanes, {p}, {turned});
            a.accumulate(dOut, turned, {dvSums.memref, {keyTile}, g});
            transpose(k, target, k.index(lanes), lanes, {ds}, {turned});
            a.accumulate(query, turned, {dkSums.memref, {keyTile}, g});
          });
          dqPart.write(tile, f, headDim);
        });
      });
      for (auto [sums, gradient] : {std::pair(dkSums, dk), std::pair(dvSums, dv)})
        if (sums.memref != gradient.memref)
          k.loop(begin, end, 1, [&, sums = sums, gradient = gradient](Val tile) {
            k.loop(g, g + headDim, 1, [&](Val f) { gradient.store(k, sums.load(k, tile, f), tile, f); });
          });
    });
    return success();
  }
};

// One query in every lane of its tile, cached keys in lanes.
struct CachedAttentionKernel : CPUKernel<nn::CachedAttentionOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::CachedAttentionOp op, KernelBuilder &k) const final {
    Tiles q = Tiles::of(op.getQ()), key = Tiles::of(op.getK()), value = Tiles::of(op.getV()), o = Tiles::of(op.getO());
    Tiles keys = Tiles::of(op.getKCache()), values = Tiles::of(op.getVCache());
    if (!q || !key || !value || !o || !keys || !values || q.tiles != 1)
      return failure();
    int64_t heads = op.getNumHeads(), headDim = q.features / heads, group = heads / op.getNumKvHeads();
    int64_t lanes = keys.lanes;
    Type f32 = k.b.getF32Type();
    Attention a{k, Shape{heads, static_cast<int64_t>(op.getNumKvHeads()), headDim, lanes, keys.tiles, keys.tiles, 0},
                Product(k, target, lanes)};
    Val position = k.toIndex(k.load(op.getPosition(), {}));
    Val last = position / lanes, lane = position % lanes;
    k.loop(0, keys.features, 1, [&](Val f) {
      k.store(k.load(key.memref, {0, f, 0}), keys.memref, {last, f, lane});
      k.store(k.load(value.memref, {0, f, 0}), values.memref, {last, f, lane});
    });
    Value scores = k.workspace({heads, keys.tiles, lanes}, f32).get();
    k.parallel(heads, [&](Val head) {
      Val f = head * headDim, g = (head / group) * headDim;
      Val numbers = a.laneNumbers();
      Val hidden = k.real(-1e30, a.vector());
      Val top = k.loop(0, last + 1, 1, {hidden}, [&](Val tile, Vals top) -> Vals {
        Val sum = k.loop(0, headDim, 1, {a.zero()}, [&](Val d, Vals sum) -> Vals {
          return {k.fma(k.load(q.memref, {0, f + d, 0}), keys.load(k, tile, g + d), sum[0])};
        })[0];
        Val behind = k.compare(KernelBuilder::Compare::gt, numbers, a.asLaneNumber(lane));
        Val score = a.mask(k.compare(KernelBuilder::Compare::eq, tile, last), behind,
                           sum * k.real(1 / std::sqrt(static_cast<double>(headDim)), a.vector()), hidden);
        k.storeVector(score, scores, {head, tile, 0});
        return {k.max(top[0], score)};
      })[0];
      Val largest = k.broadcast(k.maximum(top), lanes);
      Val sum = k.sum(k.loop(0, last + 1, 1, {a.zero()}, [&](Val tile, Vals sum) -> Vals {
        Val e = k.exp(k.loadVector(scores, {head, tile, 0}, lanes) - largest);
        k.storeVector(e, scores, {head, tile, 0});
        return {sum[0] + e};
      })[0]);
      k.loop(0, headDim, 1, [&](Val d) {
        Val weighted = k.loop(0, last + 1, 1, {a.zero()}, [&](Val tile, Vals sum) -> Vals {
          // Lanes behind the position hold no token yet: their weight is zero, their value may be anything.
          Val p = k.loadVector(scores, {head, tile, 0}, lanes);
          Val v = k.select(k.compare(KernelBuilder::Compare::gt, p, a.zero()), values.load(k, tile, g + d), a.zero());
          return {k.fma(p, v, sum[0])};
        })[0];
        o.store(k, k.broadcast(k.sum(weighted) / sum, o.lanes), 0, f + d);
      });
    });
    return success();
  }
};

} // namespace

void smet::populateAttentionKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<AttentionKernel, AttentionGradKernel, CachedAttentionKernel>(patterns.getContext(), target);
}
