//===- SparseKernelsSlots.cpp - score, widen, to_dense, from_dense --------===//
#include "SparseKernels.h"

using namespace mlir;
using namespace smet;

namespace {

/// Array elements that one item of work covers, about.
constexpr int64_t itemElements = 16384;

/// Sum of |v| over `size` elements from `offset`.
Val magnitude(KernelBuilder &k, Value flat, Val offset, int64_t size, int64_t lanes) {
  Type f32 = k.b.getF32Type();
  Val total = k.zero(f32);
  if (size >= lanes)
    total =
        k.sum(k.loop(0, size / lanes * lanes, lanes, {k.zero(k.vectorOf(lanes, f32))}, [&](Val i, Vals acc) -> Vals {
          return {acc[0] + k.abs(k.loadVector(flat, {offset + i}, lanes))};
        })[0]);
  for (int64_t i = size / lanes * lanes; i < size; ++i)
    total = total + k.abs(k.load(flat, {offset + i}));
  return total;
}

struct ScoreKernel : CPUKernel<ScoreOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(ScoreOp op, KernelBuilder &k) const final {
    if (!isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getScore()))
      return failure();
    auto type = cast<MemRefType>(op.getValues().getType());
    int64_t size = type.getDimSize(1) * type.getDimSize(2), lanes = target.vectorBits / 32;
    Val slots = k.size(op.getValues(), 0);
    Value flat = k.flatten(op.getValues()).get(), score = op.getScore();
    parallelPieces(k, slots, std::max<int64_t>(itemElements / size, 1), [&](Val begin, Val end) {
      if (size > 1)
        return k.loop(begin, end, 1,
                      [&](Val slot) { k.store(magnitude(k, flat, slot * size, size, lanes), score, {slot}); });
      k.vectorLoop(
          begin, end, lanes, [&](Val i) { k.storeVector(k.abs(k.loadVector(flat, {i}, lanes)), score, {i}); },
          [&](Val i) { k.store(k.abs(k.load(flat, {i})), score, {i}); });
    });
    return success();
  }
};

struct WidenKernel : CPUKernel<WidenOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(WidenOp op, KernelBuilder &k) const final {
    if (!isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getWide()))
      return failure();
    auto type = cast<MemRefType>(op.getValues().getType());
    int64_t size = type.getDimSize(1) * type.getDimSize(2), lanes = target.vectorBits / 32;
    Value values = k.flatten(op.getValues()).get(), wide = k.flatten(op.getWide()).get();
    parallelPieces(k, k.size(op.getValues(), 0) * size, itemElements, [&](Val begin, Val end) {
      k.vectorLoop(
          begin, end, lanes, [&](Val i) { k.storeVector(k.loadVector(values, {i}, lanes), wide, {i}); },
          [&](Val i) { k.store(k.load(values, {i}), wide, {i}); });
    });
    return success();
  }
};

/// body(slot, row block, column block) over all slots, in parallel by row blocks.
void forSlots(KernelBuilder &k, TopologyType type, const TopologyArrays &arrays,
              function_ref<void(Val)> prepareRowBlock, function_ref<void(Val, Val, Val)> body) {
  Walk walk = rowWalk(type, arrays);
  k.parallel(walk.segments, [&](Val segment) {
    prepareRowBlock(segment);
    k.loop(walk.begin(k, segment), walk.end(k, segment), 1,
           [&](Val slot) { body(slot, segment, walk.coordinate(k, slot)); });
  });
}

/// copy(slot, r, c, row, column) over the elements of all slots.
void forElements(KernelBuilder &k, TopologyType type, const TopologyArrays &arrays,
                 function_ref<void(Val)> prepareRowBlock, function_ref<void(Vals, Vals)> copy) {
  forSlots(k, type, arrays, prepareRowBlock, [&](Val slot, Val rowBlock, Val colBlock) {
    k.loop(0, type.getBlockRows(), 1, [&](Val r) {
      k.loop(0, type.getBlockCols(), 1, [&](Val c) {
        copy({slot, r, c}, {rowBlock * type.getBlockRows() + r, colBlock * type.getBlockCols() + c});
      });
    });
  });
}

struct ToDenseKernel : CPUKernel<ToDenseOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(ToDenseOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getDense()))
      return failure();
    TopologyType type = op.getTopology().getType();
    forElements(
        k, type, *arrays,
        [&](Val rowBlock) {
          k.loop(0, type.getBlockRows(), 1, [&](Val r) {
            k.loop(0, type.getCols(), 1, [&](Val column) {
              k.store(0, op.getDense(), {rowBlock * type.getBlockRows() + r, column});
            });
          });
        },
        [&](Vals element, Vals place) { k.store(k.load(op.getValues(), element), op.getDense(), place); });
    return success();
  }
};

struct FromDenseKernel : CPUKernel<FromDenseOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(FromDenseOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32OrBF16(op.getValues()) || !isF32OrBF16(op.getDense()))
      return failure();
    forElements(
        k, op.getTopology().getType(), *arrays, [](Val) {},
        [&](Vals element, Vals place) { k.store(k.load(op.getDense(), place), op.getValues(), element); });
    return success();
  }
};

} // namespace

void smet::populateSlotKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<ScoreKernel, WidenKernel, ToDenseKernel, FromDenseKernel>(patterns.getContext(), target);
}
