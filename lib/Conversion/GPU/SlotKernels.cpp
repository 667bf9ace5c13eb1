//===- SlotKernels.cpp - score, widen, to_dense, from_dense ---------------===//
#include "GPUKernel.h"

#include "smet/Conversion/Topology.h"

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

namespace {

int64_t blockSizeOf(Value values) {
  auto type = cast<MemRefType>(values.getType());
  return type.getDimSize(1) * type.getDimSize(2);
}

// A warp sums a large block, a thread a small one.
struct ScoreKernel : GPUKernel<ScoreOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(ScoreOp op, GPUBuilder &k) const final {
    if (!isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getScore()))
      return failure();
    int64_t size = blockSizeOf(op.getValues());
    Val slots = k.size(op.getValues(), 0);
    Value flat = k.flatten(op.getValues()).get(), score = op.getScore();
    auto sum = [&](Val slot, Val first, int64_t step) {
      return k.loop(first, k.index(size), step, {k.zero(k.b.getF32Type())}, [&](Val i, Vals sum) -> Vals {
        return {sum[0] + k.abs(k.load(flat, {slot * k.index(size) + i}))};
      })[0];
    };
    if (size < warpSize)
      k.forEachThread(slots, [&](Val slot) { k.store(sum(slot, k.index(0), 1), score, {slot}); });
    else
      k.forEachWarp(slots, [&](Val slot, Val lane) {
        Val total = k.warpSum(sum(slot, lane, warpSize));
        k.ifThen(k.compare(Compare::eq, lane, k.index(0)), [&] { k.store(total, score, {slot}); });
      });
    return success();
  }
};

struct WidenKernel : GPUKernel<WidenOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(WidenOp op, GPUBuilder &k) const final {
    if (!isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getWide()))
      return failure();
    int64_t size = blockSizeOf(op.getValues());
    Value values = k.flatten(op.getValues()).get(), wide = k.flatten(op.getWide()).get();
    constexpr int64_t width = widestLoad / 2;
    Val slots = k.size(op.getValues(), 0);
    if (size % width == 0)
      k.forEachThread(slots * (size / width), [&](Val i) {
        k.storeVector(k.loadVector(values, {i * k.index(width)}, width), wide, {i * k.index(width)});
      });
    else
      k.forEachThread(slots * size, [&](Val i) { k.store(k.load(values, {i}), wide, {i}); });
    return success();
  }
};

/// copy(element of the values, element of the dense matrix) by a thread for every active weight.
void forWeights(GPUBuilder &k, TopologyType type, const TopologyArrays &arrays, Val slots,
                function_ref<void(Vals, Vals)> copy) {
  Walk walk = rowWalk(type, arrays);
  int64_t rows = type.getBlockRows(), columns = type.getBlockCols();
  k.forEachThread(slots * (rows * columns), [&](Val i) {
    Val slot = i / k.index(rows * columns), r = i / k.index(columns) % k.index(rows), c = i % k.index(columns);
    Val row = walk.segmentOf(k, slot) * k.index(rows) + r, column = walk.coordinate(k, slot) * k.index(columns) + c;
    copy({slot, r, c}, {row, column});
  });
}

struct ToDenseKernel : GPUKernel<ToDenseOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(ToDenseOp op, GPUBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getDense()))
      return failure();
    Value all = k.flatten(op.getDense()).get();
    k.forEachThread(cast<MemRefType>(all.getType()).getNumElements(),
                    [&](Val i) { k.store(k.zero(k.b.getF32Type()), all, {i}); });
    forWeights(k, op.getTopology().getType(), *arrays, k.size(op.getValues(), 0),
               [&](Vals element, Vals place) { k.store(k.load(op.getValues(), element), op.getDense(), place); });
    return success();
  }
};

struct FromDenseKernel : GPUKernel<FromDenseOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(FromDenseOp op, GPUBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getDense()))
      return failure();
    forWeights(k, op.getTopology().getType(), *arrays, k.size(op.getValues(), 0),
               [&](Vals element, Vals place) { k.store(k.load(op.getDense(), place), op.getValues(), element); });
    return success();
  }
};

} // namespace

void smet::populateSlotGPUKernels(RewritePatternSet &patterns) {
  patterns.add<ScoreKernel, WidenKernel, ToDenseKernel, FromDenseKernel>(patterns.getContext());
}
