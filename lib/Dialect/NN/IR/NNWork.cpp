//===- NNWork.cpp - operations and bytes of the nn ops --------------------===//
//
// Counted by the formulas in NNOps.td, as KernelOpInterface says.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Interfaces/Work.h"

using namespace mlir;
using namespace smet;
using namespace smet::nn;

namespace {

/// So many operations, and every operand once.
Work once(Operation *op, int64_t flops = 0) { return {flops, bytesOf(op->getOperands())}; }

/// Pairs of a query and a key that it sees, over all heads.
template <typename OpT> int64_t causalPairs(OpT op) {
  int64_t length = op.getSeqLen(), sequences = tokensOf(op.getQ()) / length;
  return op.getNumHeads() * sequences * (length * (length + 1) / 2);
}

template <typename OpT> int64_t headDim(OpT op) {
  return elementsOf(op.getQ()) / tokensOf(op.getQ()) / op.getNumHeads();
}

template <typename OpT> int64_t logitsOf(OpT op) {
  return tokensOf(op.getX()) * cast<ShapedType>(op.getW().getType()).getDimSize(0);
}

} // namespace

// Of the table, only the rows of the tokens.
Work EmbeddingOp::getWork() { return {0, bytesOf(getIds()) + 2 * bytesOf(getX())}; }
Work EmbeddingGradOp::getWork() { return once(*this, elementsOf(getDx())); }

// Squares are summed (2), x r gamma (2).
Work RMSNormOp::getWork() { return once(*this, 4 * elementsOf(getX())); }
// Squares are summed (2), g (1), its product with x is summed (2), dx (3), dgamma (3).
Work RMSNormGradOp::getWork() { return once(*this, 11 * elementsOf(getX())); }

// Two products and a sum an output.
Work RopeOp::getWork() { return once(*this, 3 * elementsOf(getX())); }
Work RopeAtOp::getWork() { return once(*this, 3 * elementsOf(getX())); }

// The sigmoid is four operations.
Work SiluMulOp::getWork() { return once(*this, 6 * elementsOf(getGate())); }
Work SiluMulGradOp::getWork() { return once(*this, 12 * elementsOf(getGate())); }

Work AddOp::getWork() { return once(*this, elementsOf(getC())); }
Work FillOp::getWork() { return once(*this); }

// Two products of head_dim multiply-adds; scale, maximum, exp and sum.
Work AttentionOp::getWork() { return once(*this, causalPairs(*this) * (4 * headDim(*this) + 4)); }
// Five products; scale, exp, and four for ds. do . o comes once a query.
Work AttentionGradOp::getWork() {
  return once(*this, causalPairs(*this) * (10 * headDim(*this) + 6) + 2 * elementsOf(getQ()));
}
// At the last position.
Work CachedAttentionOp::getWork() {
  return once(*this, getNumHeads() * tokensOf(getKCache()) * (4 * headDim(*this) + 4));
}
Work SelectTokenOp::getWork() { return {0, 2 * bytesOf(getY())}; }

Work LinearOp::getWork() { return once(*this, 2 * tokensOf(getX()) * elementsOf(getW())); }
Work LinearGradInputOp::getWork() { return once(*this, 2 * tokensOf(getDy()) * elementsOf(getW())); }
Work LinearGradWeightOp::getWork() { return once(*this, 2 * tokensOf(getX()) * elementsOf(getDw())); }

// One product; a logit's maximum, difference, exp and sum.
Work LinearCrossEntropyOp::getWork() {
  return once(*this, 2 * tokensOf(getX()) * elementsOf(getW()) + 4 * logitsOf(*this));
}
// Three products; a logit's difference, exp and factor.
Work LinearCrossEntropyGradOp::getWork() {
  return once(*this, 6 * tokensOf(getX()) * elementsOf(getW()) + 3 * logitsOf(*this));
}
Work LinearCrossEntropyWithGradOp::getWork() {
  return once(*this, 6 * tokensOf(getX()) * elementsOf(getW()) + 7 * logitsOf(*this));
}

Work PackOp::getWork() { return once(*this); }
Work UnpackOp::getWork() { return once(*this); }
