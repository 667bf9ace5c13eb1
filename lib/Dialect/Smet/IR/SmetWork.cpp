//===- SmetWork.cpp - operations and bytes of the smet ops ----------------===//
//
// Counted by the formulas in SmetOps.td, as KernelOpInterface says. A product with a masked weight needs the topology's
// arrays of one orientation.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/Smet/IR/Smet.h"
#include "smet/Interfaces/Work.h"

using namespace mlir;
using namespace smet;

namespace {

/// Positions and coordinates, or the three arrays of the transposed walk.
int64_t topologyBytes(TopologyType type, bool transposed = false) {
  int64_t bytes = 0;
  SmallVector<RankedTensorType> arrays = type.getArrayTypes();
  for (RankedTensorType array : transposed ? ArrayRef(arrays).drop_front(2) : ArrayRef(arrays).take_front(2))
    bytes += bytesOf(array).value_or(0);
  return bytes;
}

/// Multiply-adds of a product of all active weights with activations.
int64_t product(TopologyType type, Value activation) {
  return 2 * type.getNnz() * type.getBlockSize() * tokensOf(activation);
}

/// Every operand once, and once more those that are updated.
Work masked(DestinationStyleOpInterface op, TopologyType type, int64_t flops, bool updates, bool transposed = false) {
  int64_t bytes = topologyBytes(type, transposed) + bytesOf(op->getOperands());
  return {flops, updates ? bytes + bytesOf(op.getDpsInits()) : bytes};
}

/// The work with the activations read once for each active block of so many features of theirs.
Work perBlock(Work work, TopologyType type, ArrayRef<std::pair<Value, int64_t>> activations) {
  work.cacheBytes = work.bytes;
  for (auto [activation, features] : activations) {
    int64_t width = cast<ShapedType>(activation.getType()).getElementTypeBitWidth() / 8;
    work.cacheBytes += type.getNnz() * features * tokensOf(activation) * width - bytesOf(ValueRange(activation));
  }
  return work;
}

/// Both moments (3 + 4), both corrections, root, eps, quotient, rate, difference (7); two for the decay.
int64_t adam(AdamWAttr adamw, Value weights) { return elementsOf(weights) * (adamw.getWeightDecay().value ? 16 : 14); }

} // namespace

Work LinearOp::getWork() {
  TopologyType type = getTopology().getType();
  return masked(*this, type, product(type, getX()), /*updates=*/false);
}
Work SpmmOp::getWork() {
  TopologyType type = getTopology().getType();
  Work work = masked(*this, type, product(type, getX()), getAccumulate(), getTranspose());
  return perBlock(work, type, {{getX(), getTranspose() ? type.getBlockRows() : type.getBlockCols()}});
}
Work SddmmOp::getWork() {
  TopologyType type = getTopology().getType();
  Work work = masked(*this, type, product(type, getX()), getAccumulate());
  return perBlock(work, type, {{getX(), type.getBlockCols()}, {getDy(), type.getBlockRows()}});
}

Work AdamStepOp::getWork() { return {adam(getAdamw(), getValues()), bytesOf(getOperands()) + bytesOf(getDpsInits())}; }
Work DenseAdamStepOp::getWork() { return {adam(getAdamw(), getW()), bytesOf(getOperands()) + bytesOf(getDpsInits())}; }
Work SddmmAdamOp::getWork() {
  TopologyType type = getTopology().getType();
  Work work = masked(*this, type, product(type, getX()) + adam(getAdamw(), getValues()), /*updates=*/true);
  return perBlock(work, type, {{getX(), type.getBlockCols()}, {getDy(), type.getBlockRows()}});
}

Work WidenOp::getWork() { return {0, bytesOf(getOperands())}; }
Work ScoreOp::getWork() { return {2 * elementsOf(getValues()), bytesOf(getOperands())}; }
// Of the dense matrix, to_dense writes all and from_dense reads the active blocks.
Work ToDenseOp::getWork() { return masked(*this, getTopology().getType(), 0, /*updates=*/false); }
Work FromDenseOp::getWork() { return {0, topologyBytes(getTopology().getType()) + 2 * bytesOf(getValues())}; }
