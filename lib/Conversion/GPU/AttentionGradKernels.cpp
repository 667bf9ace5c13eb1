//===- AttentionGradKernels.cpp - the gradient of causal attention --------===//
//
// Three launches, without atomics: per query, delta = do . o; per tile of queries dq, over the keys they see; per tile
// of keys dk and dv, over the heads that share them and the queries that see them. The latter two compute probabilities
// once more, from the log-sum-exp, for one pair of tiles at a time.
//
//===----------------------------------------------------------------------===//
#include "AttentionTiles.h"

#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

namespace {

class AttentionGrad {
public:
  AttentionGrad(GPUBuilder &k, nn::AttentionGradOp op)
      : k(k), shape(AttentionShape::of(op)), q(Activation::of(op.getQ())), keys(Activation::of(op.getK())),
        values(Activation::of(op.getV())), o(Activation::of(op.getO())), dO(Activation::of(op.getDo_())),
        dq(Activation::of(op.getDq())), dk(Activation::of(op.getDk())), dv(Activation::of(op.getDv())),
        lse(op.getLse()) {}

  void emit() {
    Type f32 = k.b.getF32Type();
    int64_t padded = shape.tiles * AttentionShape::tile;
    norms = k.workspace({shape.heads, padded}, f32).get();
    deltas = k.workspace({shape.heads, padded}, f32).get();
    k.forEachThread(shape.heads * padded, [&](Val i) { emitQuery(i / padded, i % padded); });
    k.launch(shape.heads * shape.tiles, TilePair::threadsFor(shape.headDim), [&](Val block, Val thread) {
      emitQueryTile(block % shape.heads, k.index(shape.tiles - 1) - block / shape.heads, thread);
    });
    k.launch(shape.kvHeads * shape.tiles, TilePair::threadsFor(shape.headDim),
             [&](Val block, Val thread) { emitKeyTile(block % shape.kvHeads, block / shape.kvHeads, thread); });
  }

private:
  // Beyond the last token the norm is so large that all probabilities are zero.
  void emitQuery(Val head, Val token) const {
    Type f32 = k.b.getF32Type();
    Val isToken = k.compare(KernelBuilder::Compare::lt, token, shape.tokens);
    Vals both = k.ifElse(
        isToken, {f32, f32},
        [&]() -> Vals {
          Val delta = k.loop(0, shape.headDim, 1, {k.zero(f32)}, [&](Val d, Vals sum) -> Vals {
            Vals at{0, head * shape.headDim + d, token};
            return {k.fma(k.load(dO.memref, at), k.load(o.memref, at), sum[0])};
          })[0];
          return {k.load(lse, {head, token}), delta};
        },
        [&]() -> Vals {
          return {k.real(1e30, f32), k.zero(f32)};
        });
    k.store(both[0], norms, {head, token});
    k.store(both[1], deltas, {head, token});
  }

  /// What belongs to the queries of a thread from `first` on, four of them.
  Val load(Value ofQueries, Val head, Val first) const {
    return k.loadVector(ofQueries, {head, first}, TilePair::width);
  }
  Val scaled(Val value) const { return value * k.real(shape.scale(), value.type()); }

  void emitQueryTile(Val head, Val tile, Val thread) const {
    TilePair pair(k, shape.headDim, thread);
    Val feature = head * shape.headDim, kvFeature = head / shape.groupSize() * shape.headDim;
    Val first = pair.firstLane(tile), zero = k.zero(pair.vector());
    VisibleRows visible = keysOf(k, shape, first);
    Val norm = load(norms, head, first), delta = load(deltas, head, first);
    Vals sums = k.loop(firstKeyTile(shape, tile), tile + 1, 1, pair.zeros(), [&](Val keyTile, Vals sums) -> Vals {
      TilePart key{keys, kvFeature, keyTile};
      Vals p = pair.scores({q, feature, tile}, key);
      Vals dp = pair.scores({dO, feature, tile}, {values, kvFeature, keyTile});
      for (int64_t j = 0; j < pair.each; ++j) {
        p[j] = visible.select(k, pair.firstRow(keyTile) + j, k.exp(scaled(p[j]) - norm), zero);
        dp[j] = scaled(p[j]) * (dp[j] - delta);
      }
      pair.accumulate(dp, key, sums);
      pair.endRound();
      return sums;
    });
    pair.store(sums, {dq, feature, tile});
  }

  void emitKeyTile(Val kvHead, Val tile, Val thread) const {
    TilePair pair(k, shape.headDim, thread);
    Val kvFeature = kvHead * shape.headDim, zero = k.zero(pair.vector());
    VisibleRows visible = queriesOf(k, shape, pair.firstLane(tile));
    Vals sums = pair.zeros();
    llvm::append_range(sums, pair.zeros());
    size_t features = sums.size() / 2;
    Val firstHead = kvHead * shape.groupSize();
    sums = k.loop(firstHead, firstHead + shape.groupSize(), 1, sums, [&](Val head, Vals sums) -> Vals {
      Val feature = head * shape.headDim;
      return k.loop(tile, endOfQueryTiles(shape, tile), 1, sums, [&](Val queryTile, Vals sums) -> Vals {
        TilePart query{q, feature, queryTile}, dOut{dO, feature, queryTile};
        Vals p = pair.scores({keys, kvFeature, tile}, query);
        Vals dp = pair.scores({values, kvFeature, tile}, dOut);
        Val first = pair.firstRow(queryTile), norm, delta;
        for (int64_t j = 0; j < pair.each; ++j) {
          int64_t w = j % TilePair::width;
          if (w == 0) {
            norm = load(norms, head, first + j);
            delta = load(deltas, head, first + j);
          }
          p[j] = visible.select(k, first + j, k.exp(scaled(p[j]) - k.extract(norm, w)), zero);
          dp[j] = scaled(p[j]) * (dp[j] - k.extract(delta, w));
        }
        Vals dvSums(ArrayRef(sums).take_front(features)), dkSums(ArrayRef(sums).drop_front(features));
        pair.accumulate(p, dOut, dvSums);
        pair.accumulate(dp, query, dkSums);
        pair.endRound();
        llvm::append_range(dvSums, dkSums);
        return dvSums;
      });
    });
    pair.store(Vals(ArrayRef(sums).take_front(features)), {dv, kvFeature, tile});
    pair.store(Vals(ArrayRef(sums).drop_front(features)), {dk, kvFeature, tile});
  }

  GPUBuilder &k;
  AttentionShape shape;
  Activation q, keys, values, o, dO, dq, dk, dv;
  Value lse;
  Value norms, deltas; ///< [heads, tokens of whole tiles]: log-sum-exp and do . o
};

struct AttentionGradKernel : GPUKernel<nn::AttentionGradOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::AttentionGradOp op, GPUBuilder &k) const final {
    for (Value array : {op.getQ(), op.getK(), op.getV(), op.getO(), op.getDo_(), op.getDq(), op.getDk(), op.getDv()})
      if (!Activation::of(array))
        return failure();
    if (!isF32OrBF16(op.getLse()))
      return failure();
    AttentionGrad(k, op).emit();
    return success();
  }
};

} // namespace

void smet::populateAttentionGradGPUKernels(RewritePatternSet &patterns) {
  patterns.add<AttentionGradKernel>(patterns.getContext());
}
