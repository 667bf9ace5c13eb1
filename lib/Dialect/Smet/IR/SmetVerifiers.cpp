//===- SmetVerifiers.cpp - shapes and attributes of the smet ops ----------===//
//
// Letters: N x K the matrix, S slots (active blocks), R x C a block, T tokens.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace smet;

namespace {

/// Fixes N, K, S, R and C by a topology.
ShapeVerifier shapesOf(Operation *op, TopologyType type) {
  ShapeVerifier shapes(op);
  std::string text;
  llvm::raw_string_ostream(text) << " of " << Type(type);
  shapes.bind('N', type.getRows(), "the rows" + text);
  shapes.bind('K', type.getCols(), "the columns" + text);
  shapes.bind('S', type.getNnz(), "the active blocks" + text);
  shapes.bind('R', type.getBlockRows(), "the block" + text);
  shapes.bind('C', type.getBlockCols(), "the block" + text);
  return shapes;
}

template <typename OpT> LogicalResult verifyMasked(OpT op, ArrayRef<StringRef> letters) {
  ShapeVerifier shapes = shapesOf(op, op.getTopology().getType());
  return verifyKernel(op, shapes, letters);
}

LogicalResult verifyLayer(Operation *op, int64_t layer) {
  if (layer >= 0)
    return success();
  return op->emitOpError() << "layer must be at least 0, got " << layer;
}

/// One array each, with its name and shape.
struct Array {
  StringRef name;
  Value value;
  StringRef letters;
};
LogicalResult verifyArrays(ShapeVerifier shapes, ArrayRef<Array> arrays) {
  for (const Array &array : arrays)
    if (failed(shapes.array(array.name, array.value, array.letters)))
      return failure();
  return success();
}

/// The types of a topology's arrays, tensors or memrefs.
LogicalResult verifyTopologyArrays(Operation *op, TopologyType topology, TypeRange types) {
  SmallVector<RankedTensorType> expected = topology.getArrayTypes();
  if (types.size() != expected.size())
    return op->emitOpError() << "expected the " << expected.size() << " arrays of a topology, got " << types.size();
  for (auto [type, wanted, name] : llvm::zip(types, expected, TopologyType::getArrayNames())) {
    auto given = cast<ShapedType>(type);
    if (given.getElementType() != wanted.getElementType() || failed(verifyCompatibleShape(given, wanted)))
      return op->emitOpError() << name << " has shape " << shapeText(given) << " of " << given.getElementType()
                               << ", expected " << shapeText(wanted) << " of " << wanted.getElementType() << " for "
                               << Type(topology);
  }
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult AdamWAttr::verify(function_ref<InFlightDiagnostic()> emitError, Real beta1, Real beta2, Real eps,
                                Real weightDecay, int64_t warmupUpdates, bool lrScaling) {
  for (auto [name, beta] : {std::pair("beta1", beta1.value), std::pair("beta2", beta2.value)})
    if (!(beta >= 0.0 && beta < 1.0))
      return emitError() << "adamw: " << name << " must be in [0, 1), got " << beta;
  if (!(eps.value > 0.0) || std::isinf(eps.value))
    return emitError() << "adamw: eps must be positive and finite, got " << eps.value;
  if (!(weightDecay.value >= 0.0) || std::isinf(weightDecay.value))
    return emitError() << "adamw: weight_decay must be at least 0 and finite, got " << weightDecay.value;
  if (warmupUpdates < 0)
    return emitError() << "adamw: warmup_updates must be at least 0, got " << warmupUpdates;
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() { return verifyMasked(*this, {"", "SRC", "TK", "TN"}); }

LogicalResult SpmmOp::verify() {
  if (getTranspose())
    return verifyMasked(*this, {"", "SRC", "TN", "TK"});
  return verifyMasked(*this, {"", "SRC", "TK", "TN"});
}

LogicalResult SddmmOp::verify() { return verifyMasked(*this, {"", "TK", "TN", "SRC"}); }

LogicalResult WidenOp::verify() { return verifyElementwise(*this); }

LogicalResult AdamStepOp::verify() { return verifyMasked(*this, {"", "SRC", "", "", "SRC", "SRC", "SRC", "S"}); }

LogicalResult SddmmAdamOp::verify() { return verifyMasked(*this, {"", "TK", "TN", "", "", "SRC", "SRC", "SRC", "S"}); }

LogicalResult DenseAdamStepOp::verify() {
  ShapeVerifier shapes(*this);
  if (failed(verifyNotMixed(*this)))
    return failure();
  for (auto [i, value] : llvm::enumerate((*this)->getOperands())) {
    bool isScalar = value == getLr() || value == getStep();
    StringRef name = operandNames[i];
    if (failed(isScalar ? shapes.array(name, value, "") : shapes.sameShape(name, value)) ||
        failed(shapes.sameFloat(name, value)))
      return failure();
  }
  return success();
}

LogicalResult ScoreOp::verify() {
  ShapeVerifier shapes(*this);
  return verifyKernel(*this, shapes, {"SRC", "S"});
}

LogicalResult ToDenseOp::verify() { return verifyMasked(*this, {"", "SRC", "NK"}); }
LogicalResult FromDenseOp::verify() { return verifyMasked(*this, {"", "NK", "SRC"}); }

//===----------------------------------------------------------------------===//
// Topology and initialization
//===----------------------------------------------------------------------===//

LogicalResult TopologyInitOp::verify() {
  if (failed(verifyLayer(*this, getLayer())))
    return failure();
  return ShapeVerifier(*this).array("seed", getSeed(), "");
}

LogicalResult FromMaskOp::verify() { return verifyArrays(shapesOf(*this, getType()), {{"mask", getMask(), "NK"}}); }

LogicalResult InitNormalOp::verify() {
  double std = getStd().convertToDouble();
  if (!(std >= 0.0) || std::isinf(std))
    return emitOpError() << "std must be at least 0 and finite, got " << std;
  if (failed(verifyLayer(*this, getLayer())))
    return failure();
  Type element = cast<ShapedType>(getDest().getType()).getElementType();
  if (!isa<FloatType>(element))
    return emitOpError() << "dest must have a float element type, got " << element;
  if (!getTopology())
    return ShapeVerifier(*this).array("seed", getSeed(), "");
  return verifyArrays(shapesOf(*this, getTopology().getType()), {{"seed", getSeed(), ""}, {"dest", getDest(), "SRC"}});
}

LogicalResult PruneOp::verify() {
  return verifyArrays(shapesOf(*this, getTopology().getType()),
                      {{"score", getScore(), "S"}, {"rate", getRate(), ""}, {"keep", getKeep(), "S"}});
}

LogicalResult GrowOp::verify() {
  if (failed(verifyLayer(*this, getLayer())))
    return failure();
  return verifyArrays(
      shapesOf(*this, getTopology().getType()),
      {{"keep", getKeep(), "S"}, {"seed", getSeed(), ""}, {"update", getUpdate(), ""}, {"grown", getGrown(), "S"}});
}

LogicalResult UpdateTopologyOp::verify() {
  return verifyArrays(shapesOf(*this, getTopology().getType()),
                      {{"keep", getKeep(), "S"}, {"grown", getGrown(), "S"}, {"slot_map", getSlotMap(), "S"}});
}

LogicalResult RemapOp::verify() {
  return verifyArrays(ShapeVerifier(*this), {{"slot_map", getSlotMap(), "S"}, {"array", getArray(), "S*"}});
}

//===----------------------------------------------------------------------===//
// Later stages
//===----------------------------------------------------------------------===//

LogicalResult DispatchOp::verify() { return verifyNotMixed(*this); }

LogicalResult RoutineOp::verify() {
  if (getName().empty())
    return emitOpError("has no routine name");
  return verifyNotMixed(*this);
}

// op(A) is M x K, op(B) K x N.
LogicalResult GemmOp::verify() {
  for (auto [name, value] : {std::pair("a", getA()), std::pair("b", getB()), std::pair("c", getC())}) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(cast<MemRefType>(value.getType()).getStridesAndOffset(strides, offset)) || strides.back() != 1)
      return emitOpError() << name << " must be row-major with unit inner stride, got " << value.getType();
  }
  return verifyArrays(ShapeVerifier(*this), {{"a", getA(), getTransposeA() ? "KM" : "MK"},
                                             {"b", getB(), getTransposeB() ? "NK" : "KN"},
                                             {"c", getC(), "MN"}});
}

LogicalResult CheckFiniteOp::verify() { return ShapeVerifier(*this).array("value", getValue(), ""); }

LogicalResult TopologyPackOp::verify() {
  if (failed(verifyNotMixed(*this)))
    return failure();
  return verifyTopologyArrays(*this, getTopology().getType(), getArrays().getTypes());
}

LogicalResult TopologyUnpackOp::verify() {
  return verifyTopologyArrays(*this, getTopology().getType(), getArrays().getTypes());
}
