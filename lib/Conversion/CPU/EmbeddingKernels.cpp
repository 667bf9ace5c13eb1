//===- EmbeddingKernels.cpp - embedding and its gradient ------------------===//
#include "NNKernels.h"

using namespace mlir;
using namespace smet;

namespace {

// Rows of the table become columns of lanes.
struct EmbeddingKernel : CPUKernel<nn::EmbeddingOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::EmbeddingOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX());
    if (!x)
      return failure();
    int64_t tokens = cast<MemRefType>(op.getIds().getType()).getDimSize(0);
    k.parallel(x.tiles, [&](Val tile) {
      if (tokens % x.lanes) // lanes beyond the last token
        k.loop(0, x.features, 1, [&](Val f) { x.store(k, k.zero(k.vectorOf(x.lanes, k.b.getF32Type())), tile, f); });
      Val first = tile * x.lanes, count = k.min(k.index(tokens) - first, k.index(x.lanes));
      k.loop(0, count, 1, [&](Val lane) {
        Val row = k.toIndex(k.load(op.getIds(), {first + lane}));
        k.loop(0, x.features, 1, [&](Val f) { k.store(k.load(op.getTable(), {row, f}), x.memref, {tile, f, lane}); });
      });
    });
    return success();
  }
};

// Parallel over features, tokens in order: no atomics, one order of summation.
struct EmbeddingGradKernel : CPUKernel<nn::EmbeddingGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::EmbeddingGradOp op, KernelBuilder &k) const final {
    Tiles dx = Tiles::of(op.getDx());
    if (!dx)
      return failure();
    auto table = cast<MemRefType>(op.getDtable().getType());
    int64_t tokens = cast<MemRefType>(op.getIds().getType()).getDimSize(0);
    Value all = k.flatten(op.getDtable()).get();
    parallelPieces(k, k.index(table.getNumElements()), 1 << 16, [&](Val begin, Val end) {
      k.loop(begin, end, 1, [&](Val i) { k.store(k.zero(k.b.getF32Type()), all, {i}); });
    });
    parallelPieces(k, k.index(dx.features), 64, [&](Val begin, Val end) {
      k.loop(0, tokens, 1, [&](Val token) {
        Val row = k.toIndex(k.load(op.getIds(), {token}));
        k.loop(begin, end, 1, [&](Val f) {
          Val sum = k.load(op.getDtable(), {row, f}) + k.load(dx.memref, {token / dx.lanes, f, token % dx.lanes});
          k.store(sum, op.getDtable(), {row, f});
        });
      });
    });
    return success();
  }
};

} // namespace

void smet::populateEmbeddingKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<EmbeddingKernel, EmbeddingGradKernel>(patterns.getContext(), target);
}
