//===- SmetCanonicalize.cpp - folds and canonicalizations of the smet ops -===//
#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Smet.h"

using namespace mlir;
using namespace smet;

namespace {

/// Adding to zeros is overwriting. The filled array becomes the destination itself; where others read the zeros too, it
/// cannot.
template <typename OpT> LogicalResult overwriteZeros(OpT op, PatternRewriter &rewriter) {
  OpOperand &init = *op.getDpsInitOperand(0);
  if (!op.getAccumulate() || !nn::isZero(init.get()))
    return failure();
  auto fill = init.get().getDefiningOp<nn::FillOp>();
  if (fill && !fill->hasOneUse())
    return failure();
  Value destination = fill ? fill.getX() : emptyTensor(rewriter, op.getLoc(), init.get().getType());
  rewriter.modifyOpInPlace(op, [&] {
    init.set(destination);
    op.setAccumulate(false);
  });
  return success();
}

} // namespace

LogicalResult SpmmOp::canonicalize(SpmmOp op, PatternRewriter &rewriter) { return overwriteZeros(op, rewriter); }
LogicalResult SddmmOp::canonicalize(SddmmOp op, PatternRewriter &rewriter) { return overwriteZeros(op, rewriter); }

/// from_dense(to_dense(values)) at the same topology is values, and the N x K array goes.
LogicalResult FromDenseOp::canonicalize(FromDenseOp op, PatternRewriter &rewriter) {
  auto dense = op.getDense().getDefiningOp<ToDenseOp>();
  if (!dense || !hasFreshInits(op) || dense.getTopology() != op.getTopology() ||
      op->getResultTypes() != TypeRange(dense.getValues().getType()))
    return failure();
  rewriter.replaceOp(op, dense.getValues());
  return success();
}

/// Through an identity map every slot keeps its entry.
OpFoldResult RemapOp::fold(FoldAdaptor adaptor) {
  auto slotMap = dyn_cast_if_present<DenseIntElementsAttr>(adaptor.getSlotMap());
  if (!slotMap)
    return {};
  for (auto [slot, old] : llvm::enumerate(slotMap.getValues<int32_t>()))
    if (old != static_cast<int64_t>(slot))
      return {};
  return getArray();
}

OpFoldResult TopologyPackOp::fold(FoldAdaptor) {
  auto unpack = getArrays().front().getDefiningOp<TopologyUnpackOp>();
  if (!unpack || !llvm::equal(getArrays(), unpack.getArrays()) || unpack.getTopology().getType() != getType())
    return {};
  return unpack.getTopology();
}

LogicalResult TopologyUnpackOp::canonicalize(TopologyUnpackOp op, PatternRewriter &rewriter) {
  auto pack = op.getTopology().getDefiningOp<TopologyPackOp>();
  if (!pack || pack.getArrays().getTypes() != op.getArrays().getTypes())
    return failure();
  rewriter.replaceOp(op, pack.getArrays());
  return success();
}
