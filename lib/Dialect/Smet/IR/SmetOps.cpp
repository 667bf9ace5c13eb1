//===- SmetOps.cpp - ops of the smet dialect ------------------------------===//
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace smet;

#define GET_OP_CLASSES
#include "smet/Dialect/Smet/IR/SmetOps.cpp.inc"

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "kernel " << getKernelAttr() << " does not name a function";
  if (kernel.getNumArguments() != getNumOperands())
    return emitOpError() << "kernel " << getKernelAttr() << " takes " << kernel.getNumArguments() << " arguments, got "
                         << getNumOperands();
  // Caller and kernel bufferize apart, so element type and shape decide; `?` on the kernel's side takes any size.
  for (auto [i, given, wanted] : llvm::enumerate(getOperandTypes(), kernel.getArgumentTypes())) {
    auto givenShape = dyn_cast<ShapedType>(given), wantedShape = dyn_cast<ShapedType>(wanted);
    if (givenShape && wantedShape && givenShape.getElementType() == wantedShape.getElementType() &&
        succeeded(verifyCompatibleShape(givenShape, wantedShape)))
      continue;
    auto givenTopology = dyn_cast<TopologyType>(given), wantedTopology = dyn_cast<TopologyType>(wanted);
    if (givenTopology && wantedTopology && givenTopology.eraseNnz() == wantedTopology.eraseNnz())
      continue;
    if (given != wanted)
      return emitOpError() << "operand #" << i << " of type " << given << " does not fit argument of type " << wanted
                           << " of " << getKernelAttr();
  }
  return success();
}

void UpdateTopologyOp::build(OpBuilder &builder, OperationState &state, Value topology, Value keep, Value grown) {
  auto type = cast<TopologyType>(topology.getType());
  build(builder, state, TypeRange{type, RankedTensorType::get({type.getNnz()}, builder.getI32Type())}, topology, keep,
        grown);
}

void LinearOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                        SmallVectorImpl<Value> &inputGrads) {
  Value dy = resultGrads[0];
  if (needed[1]) {
    // A gradient is summed up and used in f32, however the values are stored.
    auto type = cast<RankedTensorType>(getValues().getType());
    if (type.getElementType().isBF16())
      type = RankedTensorType::get(type.getShape(), b.getF32Type());
    inputGrads[1] = createWithEmptyInits<SddmmOp>(b, getLoc(), type, {getTopology(), getX(), dy})->getResult(0);
  }
  if (needed[2]) {
    auto dx = createWithEmptyInits<SpmmOp>(b, getLoc(), getX().getType(), {getTopology(), getValues(), dy});
    dx.setTranspose(true);
    inputGrads[2] = dx->getResult(0);
  }
}

void GemmOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : (*this)->getOpOperands())
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
  effects.emplace_back(MemoryEffects::Write::get(), &getCMutable());
}
