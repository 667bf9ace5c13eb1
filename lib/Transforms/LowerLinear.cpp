//===- LowerLinear.cpp - smet.linear to smet.spmm -------------------------===//
#include "smet/Transforms/Passes.h"

namespace smet {
#define GEN_PASS_DEF_LOWERLINEARPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

/// Products read values in f32: from a copy where they are stored in bf16. One a product, so that none outlives it.
static void widen(SpmmOp op) {
  auto type = cast<RankedTensorType>(op.getValues().getType());
  if (!type.getElementType().isBF16())
    return;
  OpBuilder b(op);
  auto wide = RankedTensorType::get(type.getShape(), b.getF32Type());
  auto copy = createWithEmptyInits<WidenOp>(b, op.getLoc(), wide, op.getValues());
  op.getValuesMutable().assign(copy->getResult(0));
}

namespace {
struct LowerLinearPass : smet::impl::LowerLinearPassBase<LowerLinearPass> {
  using Base::Base;

  void runOnOperation() final {
    getOperation().walk([](LinearOp op) {
      OpBuilder b(op);
      auto spmm = SpmmOp::create(b, op.getLoc(), op->getResultTypes(), op->getOperands());
      spmm->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      op->replaceAllUsesWith(spmm);
      op->erase();
    });
    if (widenValues)
      getOperation().walk(widen);
  }
};
} // namespace
