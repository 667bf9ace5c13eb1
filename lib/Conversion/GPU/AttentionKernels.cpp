//===- AttentionKernels.cpp - causal attention ----------------------------===//
//
// A block has a head and a tile of queries. It goes over the tiles of keys that these see, with the softmax online:
// what was accumulated is scaled down where a larger score comes. Probabilities exist for one pair of tiles at a time.
//
//===----------------------------------------------------------------------===//
#include "AttentionTiles.h"

#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

namespace {

class Attention {
public:
  Attention(GPUBuilder &k, nn::AttentionOp op)
      : k(k), shape(AttentionShape::of(op)), q(Activation::of(op.getQ())), keys(Activation::of(op.getK())),
        values(Activation::of(op.getV())), o(Activation::of(op.getO())), lse(op.getLse()) {}

  // Blocks begin in this order: the last queries of a sequence, which see most keys, come first.
  void emit() const {
    k.launch(shape.heads * shape.tiles, TilePair::threadsFor(shape.headDim), [&](Val block, Val thread) {
      emitBlock(block % shape.heads, k.index(shape.tiles - 1) - block / shape.heads, thread);
    });
  }

private:
  void emitBlock(Val head, Val tile, Val thread) const {
    TilePair pair(k, shape.headDim, thread);
    Val feature = head * shape.headDim, kvFeature = head / shape.groupSize() * shape.headDim;
    VisibleRows visible = keysOf(k, shape, pair.firstLane(tile));
    Val hidden = k.real(-1e30, pair.vector());
    auto larger = [&](Val a, Val b) { return k.max(a, b); };
    // The largest score so far; the thread's sum of exponentials and its features of the output, relative to it.
    Vals state{hidden, k.zero(pair.vector())};
    llvm::append_range(state, pair.zeros());
    state = k.loop(firstKeyTile(shape, tile), tile + 1, 1, state, [&](Val keyTile, Vals state) -> Vals {
      Vals scores = pair.scores({q, feature, tile}, {keys, kvFeature, keyTile});
      Val top = state[0];
      for (auto [j, score] : llvm::enumerate(scores)) {
        Val scaled = score * k.real(shape.scale(), pair.vector());
        score = visible.select(k, pair.firstRow(keyTile) + k.index(j), scaled, hidden);
        top = k.max(top, score);
      }
      top = pair.joinRows(top, larger);
      Val correction = k.exp(state[0] - top), sum = state[1] * correction;
      for (Val &score : scores) {
        score = k.exp(score - top);
        sum = sum + score;
      }
      Vals out(llvm::drop_begin(state, 2));
      for (Val &feature : out)
        feature = feature * correction;
      pair.accumulate(scores, {values, kvFeature, keyTile}, out);
      pair.endRound();
      Vals next{top, sum};
      llvm::append_range(next, out);
      return next;
    });
    Val sum = pair.joinRows(state[1], [](Val a, Val b) { return a + b; }), inverse = k.real(1, sum.type()) / sum;
    Vals out(llvm::drop_begin(state, 2));
    for (Val &feature : out)
      feature = feature * inverse;
    pair.store(out, {o, feature, tile});
    k.ifThen(pair.isFirstRow(), [&] { storeLse(state[0] + k.log(sum), head, pair.firstLane(tile)); });
  }

  /// lse has no padding.
  void storeLse(Val value, Val head, Val first) const {
    for (int64_t w = 0; w < TilePair::width; ++w) {
      auto one = [&] { k.store(k.extract(value, w), lse, {head, first + w}); };
      if (shape.tokens % AttentionShape::tile)
        k.ifThen(k.compare(KernelBuilder::Compare::lt, first + w, shape.tokens), one);
      else
        one();
    }
  }

  GPUBuilder &k;
  AttentionShape shape;
  Activation q, keys, values, o;
  Value lse;
};

struct AttentionKernel : GPUKernel<nn::AttentionOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::AttentionOp op, GPUBuilder &k) const final {
    for (Value array : {op.getQ(), op.getK(), op.getV(), op.getO()})
      if (!Activation::of(array))
        return failure();
    if (!isF32OrBF16(op.getLse()))
      return failure();
    Attention(k, op).emit();
    return success();
  }
};

} // namespace

void smet::populateAttentionGPUKernels(RewritePatternSet &patterns) {
  patterns.add<AttentionKernel>(patterns.getContext());
}
