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

/// Lanes of a product: all that registers hold, but two registers where the tiles of queries and keys are the same, so
/// that few of the pairs computed are hidden ones.
int64_t widthOf(int64_t lanes, bool diagonal, const CPUTarget &target) {
  return diagonal ? std::gcd(lanes, target.vectorBits / 32 * 2) : pieceOf(lanes, target);
}
/// Rows of a product in registers: half of the registers are sums. Whole groups make a width.
int64_t groupOf(int64_t width, const CPUTarget &target) {
  int64_t registers = std::max<int64_t>(width * 32 / target.vectorBits, 1);
  return std::gcd(width, target.numRegisters / 2 / registers);
}

/// Emits the pieces shared by the passes, for a tile of queries and one of keys. Products are `width` lanes wide.
struct Attention {
  KernelBuilder &k;
  Shape shape;
  bool diagonal; ///< the tiles are the same one: queries see the keys up to themselves, else all
  int64_t width;
  Product product;

  Attention(KernelBuilder &k, const Shape &shape, bool diagonal, const CPUTarget &target)
      : k(k), shape(shape), diagonal(diagonal), width(widthOf(shape.lanes, diagonal, target)),
        product(k, target, width, groupOf(width, target)) {}

  Type vector() const { return k.vectorOf(width, k.b.getF32Type()); }
  Val zero() const { return k.zero(vector()); }

  /// Keys that at least one of the queries from `lane` on sees.
  Val visible(Val lane) const { return diagonal ? lane + k.index(width) : k.index(shape.lanes); }
  /// First of the queries that see at least one of the keys from `lane` on.
  Val firstQuery(Val lane) const { return diagonal ? lane : k.index(0); }
  /// `value` where the queries from `lane` on see the key, else `otherwise`.
  Val mask(Val lane, Val key, Val value, Val otherwise) const {
    if (!diagonal)
      return value;
    auto number = [&](Val index) { return k.broadcast(k.fromIndex(index, k.b.getI32Type()), width); };
    Val query = number(lane) + k.iota(width, k.b.getI32Type());
    return k.select(k.compare(KernelBuilder::Compare::gt, number(key), query), otherwise, value);
  }

  /// s[row][lane] = scale * sum over d of broadcast[d][row] * inLanes[d][lane], for the first `rows`.
  void scores(const Matrix &broadcast, const Matrix &inLanes, Val rows, const Matrix &s, double scale) const {
    product.emitGroups(
        rows, {0, 1, shape.headDim},
        [&](Val row, Val, Val d) { return k.load(broadcast.memref, broadcast.at(d, row)); },
        [&](Val, Val d, Val lane) { return k.loadVector(inLanes.memref, inLanes.at(d, lane), width); },
        [&](Val row, Val lane, Vals sums) {
          for (auto [r, sum] : llvm::enumerate(sums))
            k.storeVector(sum * k.real(scale, sum.type()), s.memref, s.at(row + k.index(r), lane));
        });
  }

  /// out[d][lane] += sum over rows in [begin, end) of broadcast[d][row] * p[row][lane]; `old` makes of what out was
  /// what is added to.
  void accumulate(
      const Matrix &broadcast, const Matrix &p, Val begin, Val end, const Matrix &out,
      function_ref<Val(Val)> old = [](Val out) { return out; }) const {
    product.emit(
        shape.headDim, {begin, end, 1},
        [&](Val d, Val row, Val) { return k.load(broadcast.memref, broadcast.at(d, row)); },
        [&](Val row, Val, Val lane) { return k.loadVector(p.memref, p.at(row, lane), width); },
        [&](Val d, Val, Vals sums) {
          for (auto [r, sum] : llvm::enumerate(sums))
            store(sum + old(load(out, d + k.index(r))), out, d + k.index(r));
        });
  }

  Val load(const Matrix &part, Val row) const { return k.loadVector(part.memref, part.at(row, k.index(0)), width); }
  void store(Val value, const Matrix &part, Val row) const {
    k.storeVector(value, part.memref, part.at(row, k.index(0)));
  }
  /// body(lane) for the pieces of a tile.
  void forPieces(function_ref<void(Val)> body) const { k.loop(0, shape.lanes, width, body); }
  /// Sets all lanes to zero.
  void clear(const Matrix &out) const {
    forPieces([&](Val lane) { k.loop(0, shape.headDim, 1, [&](Val d) { store(zero(), out.from(lane), d); }); });
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
    Attention before(k, *shape, /*diagonal=*/false, target), diagonal(k, *shape, /*diagonal=*/true, target);
    int64_t lanes = shape->lanes, headDim = shape->headDim;
    Type f32 = k.b.getF32Type();
    k.parallel(shape->tiles * shape->heads, [&](Val item) {
      // Heads before tiles: the keys and values of a head stay in the second-level cache for all of its queries.
      Val perSequence = k.index(shape->tilesPerSequence);
      Val head = item / perSequence % shape->heads;
      Val first = item / (perSequence * shape->heads) * perSequence, tile = first + item % perSequence;
      Val f = head * headDim, g = (head / shape->groupSize()) * headDim;
      Matrix p{k.stack({lanes, lanes}, f32).get()};
      // Online softmax over the key tiles: running maximum and sum.
      Value tops = k.stack({lanes}, f32).get(), sums = k.stack({lanes}, f32).get();
      F32Tiles qPart(k, q, headDim), kPart(k, keys, headDim), vPart(k, values, headDim), oPart(k, o, headDim);
      Matrix query = qPart.read(tile, f, headDim), out = oPart.at(tile, f);
      auto add = [&](const Attention &a, Val keyTile) {
        Matrix key = kPart.read(keyTile, g, headDim), value = vPart.read(keyTile, g, headDim);
        a.forPieces([&](Val lane) {
          Val rows = a.visible(lane), hidden = k.real(-1e30, a.vector());
          Matrix s = p.from(lane);
          a.scores(key, query.from(lane), rows, s, shape->scale);
          auto score = [&](Val row) { return a.mask(lane, row, a.load(s, row), hidden); };
          Val top = k.loadVector(tops, {lane}, a.width), sum = k.loadVector(sums, {lane}, a.width);
          Val larger =
              k.loop(0, rows, 1, {top}, [&](Val row, Vals top) -> Vals { return {k.max(top[0], score(row))}; })[0];
          Val correction = k.exp(top - larger);
          sum = k.loop(0, rows, 1, {sum * correction}, [&](Val row, Vals sum) -> Vals {
            Val e = k.exp(score(row) - larger);
            a.store(e, s, row);
            return {sum[0] + e};
          })[0];
          k.storeVector(larger, tops, {lane});
          k.storeVector(sum, sums, {lane});
          a.accumulate(value, s, k.index(0), rows, out.from(lane), [&](Val old) { return old * correction; });
        });
      };
      Type vector = k.vectorOf(lanes, f32);
      k.storeVector(k.real(-1e30, vector), tops, {0});
      k.storeVector(k.zero(vector), sums, {0});
      before.clear(out);
      k.loop(first, tile, 1, [&](Val keyTile) { add(before, keyTile); });
      add(diagonal, tile);
      Val sum = k.loadVector(sums, {0}, lanes), inverse = k.real(1, vector) / sum;
      k.loop(0, headDim, 1, [&](Val d) {
        Vals at = out.at(d, k.index(0));
        k.storeVector(k.loadVector(out.memref, at, lanes) * inverse, out.memref, at);
      });
      k.storeVector(k.loadVector(tops, {0}, lanes) + k.log(sum), op.getLse(), {head, tile * lanes});
      oPart.write(tile, f, headDim);
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
    Attention before(k, *shape, /*diagonal=*/false, target), diagonal(k, *shape, /*diagonal=*/true, target);
    int64_t lanes = shape->lanes, headDim = shape->headDim;
    Type f32 = k.b.getF32Type();
    // Sums over all queries of a sequence, whose length is not bounded.
    auto sumsOf = [&](const Tiles &gradient) {
      bool inPlace = isF32(gradient.memref);
      return inPlace ? gradient : Tiles::of(k.workspace({gradient.tiles, gradient.features, lanes}, f32).get());
    };
    Tiles dkSums = sumsOf(dk), dvSums = sumsOf(dv);

    k.parallel(shape->sequences() * shape->kvHeads, [&](Val item) {
      Val kvHead = item % shape->kvHeads, g = kvHead * headDim;
      Val begin = item / shape->kvHeads * shape->tilesPerSequence, end = begin + shape->tilesPerSequence;
      Matrix p{k.stack({lanes, lanes}, f32).get()}, ds{k.stack({lanes, lanes}, f32).get()};
      Matrix turned{k.stack({lanes, lanes}, f32).get()};
      Value deltas = k.stack({lanes}, f32).get();
      F32Tiles qPart(k, q, headDim), kPart(k, keys, headDim), vPart(k, values, headDim), doPart(k, dO, headDim),
          dqPart(k, dq, headDim);
      k.loop(begin, end, 1, [&](Val tile) {
        before.clear({dkSums.memref, {tile}, g});
        before.clear({dvSums.memref, {tile}, g});
      });
      k.loop(kvHead * shape->groupSize(), (kvHead + 1) * shape->groupSize(), 1, [&](Val head) {
        Val f = head * headDim;
        k.loop(begin, end, 1, [&](Val tile) {
          Matrix query = qPart.read(tile, f, headDim), dOut = doPart.read(tile, f, headDim),
                 dQuery = dqPart.at(tile, f);
          // delta = do . o
          Val delta = k.loop(0, headDim, 1, {k.zero(k.vectorOf(lanes, f32))}, [&](Val d, Vals sum) -> Vals {
            return {k.fma(o.load(k, tile, f + d), dO.load(k, tile, f + d), sum[0])};
          })[0];
          k.storeVector(delta, deltas, {0});
          before.clear(dQuery);
          auto add = [&](const Attention &a, Val keyTile) {
            Matrix key = kPart.read(keyTile, g, headDim), value = vPart.read(keyTile, g, headDim);
            a.forPieces([&](Val lane) {
              Val rows = a.visible(lane);
              Matrix probabilities = p.from(lane), gradients = ds.from(lane);
              a.scores(key, query.from(lane), rows, probabilities, shape->scale);
              a.scores(value, dOut.from(lane), rows, gradients, 1);
              Val norm = k.loadVector(op.getLse(), {head, tile * lanes + lane}, a.width);
              Val delta = k.loadVector(deltas, {lane}, a.width);
              // ds = scale p (dp - delta)
              k.loop(0, rows, 1, [&](Val row) {
                Val probability = a.mask(lane, row, k.exp(a.load(probabilities, row) - norm), a.zero());
                Val scaled = probability * k.real(shape->scale, a.vector());
                a.store(probability, probabilities, row);
                a.store(scaled * (a.load(gradients, row) - delta), gradients, row);
              });
              a.accumulate(key, gradients, k.index(0), rows, dQuery.from(lane));
            });
            // Of queries that do not see a key, nothing was computed for it.
            auto sumOverQueries = [&](const Matrix &broadcast, const Matrix &terms, const Tiles &sums) {
              transpose(k, target, k.index(lanes), lanes, terms, turned);
              a.forPieces([&](Val lane) {
                a.accumulate(broadcast, turned.from(lane), a.firstQuery(lane), k.index(lanes),
                             {sums.memref, {keyTile}, g, lane});
              });
            };
            sumOverQueries(dOut, p, dvSums);
            sumOverQueries(query, ds, dkSums);
          };
          k.loop(begin, tile, 1, [&](Val keyTile) { add(before, keyTile); });
          add(diagonal, tile);
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
    Type vector = k.vectorOf(lanes, f32), i32 = k.b.getI32Type();
    double scale = 1 / std::sqrt(static_cast<double>(headDim));
    Val position = k.toIndex(k.load(op.getPosition(), {}));
    Val last = position / lanes, lane = position % lanes;
    k.loop(0, keys.features, 1, [&](Val f) {
      k.store(k.load(key.memref, {0, f, 0}), keys.memref, {last, f, lane});
      k.store(k.load(value.memref, {0, f, 0}), values.memref, {last, f, lane});
    });
    Value scores = k.workspace({heads, keys.tiles, lanes}, f32).get();
    k.parallel(heads, [&](Val head) {
      Val f = head * headDim, g = (head / group) * headDim;
      Val zero = k.zero(vector), hidden = k.real(-1e30, vector), numbers = k.iota(lanes, i32);
      Val top = k.loop(0, last + 1, 1, {hidden}, [&](Val tile, Vals top) -> Vals {
        Val sum = k.loop(0, headDim, 1, {zero}, [&](Val d, Vals sum) -> Vals {
          return {k.fma(k.load(q.memref, {0, f + d, 0}), keys.load(k, tile, g + d), sum[0])};
        })[0];
        Val end = k.select(k.compare(KernelBuilder::Compare::eq, tile, last), lane, k.index(lanes));
        Val behind = k.compare(KernelBuilder::Compare::gt, numbers, k.broadcast(k.fromIndex(end, i32), lanes));
        Val score = k.select(behind, hidden, sum * k.real(scale, vector));
        k.storeVector(score, scores, {head, tile, 0});
        return {k.max(top[0], score)};
      })[0];
      Val largest = k.broadcast(k.maximum(top), lanes);
      Val sum = k.sum(k.loop(0, last + 1, 1, {zero}, [&](Val tile, Vals sum) -> Vals {
        Val e = k.exp(k.loadVector(scores, {head, tile, 0}, lanes) - largest);
        k.storeVector(e, scores, {head, tile, 0});
        return {sum[0] + e};
      })[0]);
      k.loop(0, headDim, 1, [&](Val d) {
        Val weighted = k.loop(0, last + 1, 1, {zero}, [&](Val tile, Vals sum) -> Vals {
          // Lanes behind the position hold no token yet: their weight is zero, their value may be anything.
          Val p = k.loadVector(scores, {head, tile, 0}, lanes);
          Val v = k.select(k.compare(KernelBuilder::Compare::gt, p, zero), values.load(k, tile, g + d), zero);
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
