//===- KernelOp.cpp - the common shape of compute ops ---------------------===//
#include "smet/Interfaces/KernelOp.h"

using namespace mlir;

void smet::addDestinationStyleEffects(DestinationStyleOpInterface op,
                                      SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand, SideEffects::DefaultResource::get());
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, SideEffects::DefaultResource::get());
  }
  // What has no inits is there for what else it does.
  if (op.getNumDpsInits() == 0)
    effects.emplace_back(MemoryEffects::Write::get(), SideEffects::DefaultResource::get());
}

bool smet::hasFreshInits(DestinationStyleOpInterface op) {
  return op->getNumResults() &&
         llvm::all_of(op.getDpsInits(), [](Value init) { return init.getDefiningOp<tensor::EmptyOp>() != nullptr; });
}

Value smet::emptyTensor(OpBuilder &builder, Location loc, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor::EmptyOp::create(builder, loc, tensor.getShape(), tensor.getElementType());
}
