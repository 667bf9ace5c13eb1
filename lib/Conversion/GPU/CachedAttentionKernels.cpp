//===- CachedAttentionKernels.cpp - attention of one token over a cache ---===//
//
// Three launches: the new token's key and value go to their place; scores, each thread 16 bytes of positions; softmax
// and products, each warp eight features, its lanes going over the positions. Sums meet by shuffles.
//
//===----------------------------------------------------------------------===//
#include "GPUKernel.h"

#include "smet/Dialect/NN/IR/NN.h"

#include <cmath>

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

namespace {

class CachedAttention {
public:
  CachedAttention(GPUBuilder &k, nn::CachedAttentionOp op)
      : k(k), q(Activation::of(op.getQ())), key(Activation::of(op.getK())), value(Activation::of(op.getV())),
        o(Activation::of(op.getO())), keys(Activation::of(op.getKCache())), values(Activation::of(op.getVCache())),
        position(op.getPosition()), heads(op.getNumHeads()), headDim(q.features / heads),
        groupSize(heads / static_cast<int64_t>(op.getNumKvHeads())),
        width(widestLoad * 8 / cast<MemRefType>(keys.memref.getType()).getElementTypeBitWidth()),
        vector(k.vectorOf(width, k.b.getF32Type())) {}

  void emit() {
    k.forEachThread(keys.features, [&](Val f) {
      Val last = lastPosition();
      k.store(k.load(key.memref, {0, f, 0}), keys.memref, {0, f, last});
      k.store(k.load(value.memref, {0, f, 0}), values.memref, {0, f, last});
    });
    scores = k.workspace({heads, keys.tokens}, k.b.getF32Type()).get();
    int64_t pieces = keys.tokens / width;
    k.forEachThread(heads * pieces, [&](Val i) { emitScores(i / pieces, i % pieces * width); });
    int64_t parts = llvm::divideCeil(headDim, each);
    k.forEachWarp(heads * parts, [&](Val i, Val lane) { emitFeatures(i / parts, i % parts * each, lane); });
  }

private:
  static constexpr int64_t each = 8;

  Val lastPosition() const { return k.toIndex(k.load(position, {})); }
  Val firstFeature(Val head) const { return head * headDim; }
  Val firstKvFeature(Val head) const { return head / groupSize * headDim; }

  /// Of the positions from `first` on. Behind the last there is no score: caches may hold anything there.
  void emitScores(Val head, Val first) const {
    Val last = lastPosition();
    k.ifThen(k.compare(Compare::le, first, last), [&] {
      Val f = firstFeature(head), g = firstKvFeature(head);
      Val sum = k.loop(0, headDim, 1, {k.zero(vector)}, [&](Val d, Vals sum) -> Vals {
        return {k.fma(k.load(q.memref, {0, f + d, 0}), keys.load(k, g + d, first, width), sum[0])};
      })[0];
      Type i32 = k.b.getI32Type();
      Val isBehind = k.compare(Compare::gt, k.fromIndex(first, i32) + k.iota(width, i32), k.fromIndex(last, i32));
      Val score = sum * k.real(1 / std::sqrt(static_cast<double>(headDim)), vector);
      k.storeVector(k.select(isBehind, k.real(-1e30, vector), score), scores, {head, first});
    });
  }

  /// Of features from `first` on; beyond the last of the head it is that one once more.
  void emitFeatures(Val head, Val first, Val lane) const {
    Val end = lastPosition() + 1;
    auto forPositions = [&](Vals inits, function_ref<Vals(Val, Vals)> body) {
      return k.loop(lane * width, end, warpSize * width, inits, body);
    };
    auto score = [&](Val token) { return k.loadVector(scores, {head, token}, width); };
    Val top = forPositions({k.real(-1e30, vector)},
                           [&](Val token, Vals top) -> Vals { return {k.max(top[0], score(token))}; })[0];
    top = k.warpMax(k.maximum(top));
    Val zero = k.zero(vector);
    auto feature = [&](int64_t i) { return k.min(first + i, k.index(headDim - 1)); };
    // The sum of the exponentials, and those of the features weighted by them.
    Vals sums = forPositions(Vals(each + 1, zero), [&](Val token, Vals sums) -> Vals {
      Val p = k.exp(score(token) - top), isThere = k.compare(Compare::gt, p, zero);
      sums[each] = sums[each] + p;
      for (int64_t i = 0; i < each; ++i) {
        Val v = values.load(k, firstKvFeature(head) + feature(i), token, width);
        sums[i] = k.fma(p, k.select(isThere, v, zero), sums[i]);
      }
      return sums;
    });
    for (Val &sum : sums)
      sum = k.warpSum(k.sum(sum));
    // All tokens of q are the one, and so are those of o.
    k.loop(lane, o.tokens, warpSize, [&](Val token) {
      for (int64_t i = 0; i < each; ++i)
        k.store(sums[i] / sums[each], o.memref, {0, firstFeature(head) + feature(i), token});
    });
  }

  GPUBuilder &k;
  Activation q, key, value, o, keys, values;
  Value position;
  int64_t heads, headDim, groupSize;
  int64_t width; ///< positions that a thread loads at a time
  VectorType vector;
  Value scores; ///< [heads, positions]
};

struct CachedAttentionKernel : GPUKernel<nn::CachedAttentionOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::CachedAttentionOp op, GPUBuilder &k) const final {
    for (Value array : {op.getQ(), op.getK(), op.getV(), op.getO(), op.getKCache(), op.getVCache()})
      if (!Activation::of(array))
        return failure();
    CachedAttention(k, op).emit();
    return success();
  }
};

} // namespace

void smet::populateCachedAttentionGPUKernels(RewritePatternSet &patterns) {
  patterns.add<CachedAttentionKernel>(patterns.getContext());
}
