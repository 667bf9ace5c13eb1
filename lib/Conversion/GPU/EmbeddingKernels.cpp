//===- EmbeddingKernels.cpp - embedding and its gradient ------------------===//
#include "Turn.h"

#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

namespace {

// Rows of the table become columns.
struct EmbeddingKernel : GPUKernel<nn::EmbeddingOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::EmbeddingOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX());
    if (!x || !isF32OrBF16(op.getTable()))
      return failure();
    int64_t tokens = cast<MemRefType>(op.getIds().getType()).getDimSize(0);
    turnInto(k, x, tokens, [&](Val token, Val f) {
      return k.load(op.getTable(), {k.toIndex(k.load(op.getIds(), {token})), f});
    });
    return success();
  }
};

// A warp has 128 features of a row of the table, and looks for its tokens in order: no atomics, one order of summation.
struct EmbeddingGradKernel : GPUKernel<nn::EmbeddingGradOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::EmbeddingGradOp op, GPUBuilder &k) const final {
    Activation dx = Activation::of(op.getDx());
    if (!dx || !isF32OrBF16(op.getDtable()))
      return failure();
    constexpr int64_t each = 4, featuresOfWarp = each * warpSize;
    Type f32 = k.b.getF32Type();
    int64_t rows = cast<MemRefType>(op.getDtable().getType()).getDimSize(0);
    int64_t tokens = cast<MemRefType>(op.getIds().getType()).getDimSize(0);
    int64_t parts = llvm::divideCeil(dx.features, featuresOfWarp);
    k.forEachWarp(k.index(rows * parts), [&](Val item, Val lane) {
      Val row = item / k.index(parts), first = item % k.index(parts) * k.index(featuresOfWarp) + lane;
      auto feature = [&](int64_t i) { return first + k.index(i * warpSize); };
      Vals sums = k.loop(0, k.index(tokens), 1, Vals(each, k.zero(f32)), [&](Val token, Vals sums) -> Vals {
        Val isHere = k.compare(Compare::eq, k.toIndex(k.load(op.getIds(), {token})), row);
        return k.ifElse(
            isHere, SmallVector<Type>(each, f32),
            [&]() -> Vals {
              Vals more;
              for (int64_t i = 0; i < each; ++i) // those beyond the last feature are not stored
                more.push_back(sums[i] + k.load(dx.memref, {0, k.min(feature(i), k.index(dx.features - 1)), token}));
              return more;
            },
            [&] { return sums; });
      });
      for (auto [i, sum] : llvm::enumerate(sums))
        k.ifThen(k.compare(Compare::lt, feature(i), k.index(dx.features)), [&, i = i, sum = sum] {
          k.store(sum, op.getDtable(), {row, feature(i)});
        });
    });
    return success();
  }
};

} // namespace

void smet::populateEmbeddingGPUKernels(RewritePatternSet &patterns) {
  patterns.add<EmbeddingKernel, EmbeddingGradKernel>(patterns.getContext());
}
