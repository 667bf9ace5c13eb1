//===- NNCanonicalize.cpp - canonicalizations of the nn ops ---------------===//
//
// All replace a result by another value, and so only where the result has a fresh destination.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/NN/IR/NN.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace smet;
using namespace smet::nn;

bool nn::isZero(Value value) {
  if (auto fill = value.getDefiningOp<FillOp>())
    return fill.getValue().isZero();
  return matchPattern(value, m_AnyZeroFloat());
}

namespace {

LogicalResult replaceFresh(DestinationStyleOpInterface op, Value value, PatternRewriter &rewriter) {
  if (!hasFreshInits(op) || op->getResultTypes() != TypeRange(value.getType()))
    return failure();
  rewriter.replaceOp(op, value);
  return success();
}

} // namespace

/// a + 0 is a.
LogicalResult AddOp::canonicalize(AddOp op, PatternRewriter &rewriter) {
  if (isZero(op.getB()))
    return replaceFresh(op, op.getA(), rewriter);
  if (isZero(op.getA()))
    return replaceFresh(op, op.getB(), rewriter);
  return failure();
}

/// Rotating back what was rotated by the same angles.
LogicalResult RopeOp::canonicalize(RopeOp op, PatternRewriter &rewriter) {
  auto first = op.getX().getDefiningOp<RopeOp>();
  if (!first || first.getInverse() == op.getInverse() || first.getHeadDim() != op.getHeadDim() ||
      first.getSeqLen() != op.getSeqLen() || first.getThetaAttr() != op.getThetaAttr())
    return failure();
  return replaceFresh(op, first.getX(), rewriter);
}

/// The tokens of packed tokens.
LogicalResult UnpackOp::canonicalize(UnpackOp op, PatternRewriter &rewriter) {
  auto pack = op.getX().getDefiningOp<PackOp>();
  return pack ? replaceFresh(op, pack.getX(), rewriter) : failure();
}
