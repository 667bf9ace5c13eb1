//===- NNVerifiers.cpp - shapes and attributes of the nn ops --------------===//
//
// Letters: T tokens, F, K, N features, V vocabulary, H heads; Q and P features of all heads and of all kv heads.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;
using namespace smet::nn;

namespace {

template <typename OpT> LogicalResult verifyShapes(OpT op, ArrayRef<StringRef> letters) {
  ShapeVerifier shapes(op);
  return verifyKernel(op, shapes, letters);
}

LogicalResult verifyRange(Operation *op, StringRef attribute, const llvm::APFloat &value, bool zeroAllowed) {
  if (value.isFinite() && !(value.isNegative() && !value.isZero()) && (zeroAllowed || !value.isZero()))
    return success();
  return op->emitOpError() << attribute << " must be " << (zeroAllowed ? "at least 0" : "positive")
                           << " and finite, got " << value.convertToDouble();
}

/// The features of an activation, whatever its layout; kDynamic where unknown.
int64_t featuresOf(Value value) {
  auto type = cast<ShapedType>(value.getType());
  return type.getRank() < 2 ? ShapedType::kDynamic : type.getDimSize(1);
}

LogicalResult verifyHeadDim(Operation *op, Value x, int64_t headDim, const llvm::APFloat &theta) {
  if (failed(verifyPositive(op, "head_dim", headDim)) || failed(verifyRange(op, "theta", theta, false)))
    return failure();
  if (headDim % 2)
    return op->emitOpError() << "head_dim must be even, since features i and i + head_dim / 2 rotate together, got "
                             << headDim;
  int64_t features = featuresOf(x);
  if (!ShapedType::isDynamic(features) && features % headDim)
    return op->emitOpError() << "head_dim = " << headDim << " does not divide the " << features << " features of x ("
                             << shapeText(cast<ShapedType>(x.getType())) << ")";
  return success();
}

/// Checks the numbers of heads and fixes the features of k and v by those of q.
LogicalResult bindHeads(Operation *op, ShapeVerifier &shapes, Value q, int64_t heads, int64_t kvHeads) {
  if (failed(verifyPositive(op, "num_heads", heads)) || failed(verifyPositive(op, "num_kv_heads", kvHeads)))
    return failure();
  if (heads % kvHeads)
    return op->emitOpError() << "num_kv_heads = " << kvHeads << " does not divide num_heads = " << heads;
  shapes.bind('H', heads, "num_heads");
  int64_t features = featuresOf(q);
  if (ShapedType::isDynamic(features))
    return success();
  std::string shape = shapeText(cast<ShapedType>(q.getType()));
  if (features % heads)
    return op->emitOpError() << "num_heads = " << heads << " does not divide the " << features << " features of q ("
                             << shape << ")";
  shapes.bind('P', features / heads * kvHeads,
              "num_kv_heads times the " + Twine(features / heads) + " features of a head of q (" + shape + ")");
  return success();
}

} // namespace

LogicalResult EmbeddingOp::verify() { return verifyShapes(*this, {"VF", "T", "TF"}); }
LogicalResult EmbeddingGradOp::verify() { return verifyShapes(*this, {"TF", "T", "VF"}); }

LogicalResult RMSNormOp::verify() {
  if (failed(verifyRange(*this, "eps", getEps(), true)))
    return failure();
  return verifyShapes(*this, {"TF", "F", "TF"});
}

LogicalResult RMSNormGradOp::verify() {
  if (failed(verifyRange(*this, "eps", getEps(), true)))
    return failure();
  return verifyShapes(*this, {"TF", "F", "TF", "TF", "F"});
}

LogicalResult RopeOp::verify() {
  ShapeVerifier shapes(*this);
  if (failed(verifyHeadDim(*this, getX(), getHeadDim(), getTheta())) ||
      failed(verifyKernel(*this, shapes, {"TF", "TF"})))
    return failure();
  return shapes.wholeSequences('T', getSeqLen());
}

LogicalResult RopeAtOp::verify() {
  ShapeVerifier shapes(*this);
  shapes.bind('T', 1, "one token");
  if (failed(verifyHeadDim(*this, getX(), getHeadDim(), getTheta())) ||
      failed(verifyPositive(*this, "seq_len", getSeqLen())))
    return failure();
  return verifyKernel(*this, shapes, {"TF", "", "TF"});
}

LogicalResult SiluMulOp::verify() { return verifyShapes(*this, {"TF", "TF", "TF"}); }
LogicalResult SiluMulGradOp::verify() { return verifyShapes(*this, {"TF", "TF", "TF", "TF", "TF"}); }
LogicalResult AddOp::verify() { return verifyElementwise(*this); }
LogicalResult FillOp::verify() { return success(); }

LogicalResult AttentionOp::verify() {
  ShapeVerifier shapes(*this);
  if (failed(bindHeads(*this, shapes, getQ(), getNumHeads(), getNumKvHeads())) ||
      failed(verifyKernel(*this, shapes, {"TQ", "TP", "TP", "TQ", "HT"})))
    return failure();
  return shapes.wholeSequences('T', getSeqLen());
}

LogicalResult AttentionGradOp::verify() {
  ShapeVerifier shapes(*this);
  if (failed(bindHeads(*this, shapes, getQ(), getNumHeads(), getNumKvHeads())) ||
      failed(verifyKernel(*this, shapes, {"TQ", "TP", "TP", "TQ", "HT", "TQ", "TQ", "TP", "TP"})))
    return failure();
  return shapes.wholeSequences('T', getSeqLen());
}

// The caches (tokens U) and the one new token (T) are packed apart.
LogicalResult CachedAttentionOp::verify() {
  ShapeVerifier shapes(*this);
  shapes.bind('T', 1, "one token");
  if (failed(bindHeads(*this, shapes, getQ(), getNumHeads(), getNumKvHeads())))
    return failure();
  return verifyKernel(*this, shapes, {"TQ", "TP", "TP", "", "TQ", "UP", "UP"});
}

LogicalResult SelectTokenOp::verify() {
  ShapeVerifier shapes(*this);
  shapes.bind('U', 1, "one token");
  return verifyKernel(*this, shapes, {"TF", "", "UF"});
}

LogicalResult LinearOp::verify() { return verifyShapes(*this, {"TK", "NK", "TN"}); }
LogicalResult LinearGradInputOp::verify() { return verifyShapes(*this, {"TN", "NK", "TK"}); }
LogicalResult LinearGradWeightOp::verify() { return verifyShapes(*this, {"TK", "TN", "NK"}); }

LogicalResult LinearCrossEntropyOp::verify() { return verifyShapes(*this, {"TF", "VF", "T", "", "", "T"}); }
LogicalResult LinearCrossEntropyGradOp::verify() {
  return verifyShapes(*this, {"TF", "VF", "T", "", "T", "", "TF", "VF"});
}
LogicalResult LinearCrossEntropyWithGradOp::verify() {
  return verifyShapes(*this, {"TF", "VF", "T", "", "", "", "TF", "VF"});
}

namespace {
template <typename OpT> LogicalResult verifyLayoutChange(OpT op, Value flat, Value packed, bool flatFirst) {
  ShapeVerifier shapes(op);
  StringRef flatName = OpT::operandNames[!flatFirst], packedName = OpT::operandNames[flatFirst];
  if (failed(verifyNotMixed(op)) || failed(shapes.array(flatName, flat, "TF")) ||
      failed(shapes.packed(packedName, packed, "TF")) || failed(shapes.sameFloat(flatName, flat)))
    return failure();
  return shapes.sameFloat(packedName, packed);
}
} // namespace

LogicalResult PackOp::verify() { return verifyLayoutChange(*this, getX(), getY(), /*flatFirst=*/true); }
LogicalResult UnpackOp::verify() { return verifyLayoutChange(*this, getY(), getX(), /*flatFirst=*/false); }
