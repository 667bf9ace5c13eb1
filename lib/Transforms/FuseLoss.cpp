//===- FuseLoss.cpp - a loss and its gradient share the logits ------------===//
#include "smet/Transforms/Passes.h"

namespace smet {
#define GEN_PASS_DEF_FUSELOSSPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

/// The loss that this gradient is of, if nothing else reads its log-sum-exp; or null.
static nn::LinearCrossEntropyOp findLoss(nn::LinearCrossEntropyGradOp grad) {
  auto loss = grad.getLse().getDefiningOp<nn::LinearCrossEntropyOp>();
  bool fits = loss && grad.getLse().hasOneUse() && loss->getBlock() == grad->getBlock() && hasFreshInits(grad) &&
              loss.getX() == grad.getX() && loss.getW() == grad.getW() && loss.getTargets() == grad.getTargets() &&
              loss.getNumValid() == grad.getNumValid();
  return fits ? loss : nn::LinearCrossEntropyOp();
}

/// Brings a constant that is filled in behind `op` before it; fails for what else stands there.
static LogicalResult moveBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op))
    return success();
  auto fill = dyn_cast<nn::FillOp>(definition);
  auto empty = fill ? fill.getX().getDefiningOp<tensor::EmptyOp>() : tensor::EmptyOp();
  if (!empty || !empty.getDynamicSizes().empty())
    return failure();
  empty->moveBefore(op);
  fill->moveBefore(op);
  return success();
}

static void fuse(nn::LinearCrossEntropyOp loss, nn::LinearCrossEntropyGradOp grad) {
  OpBuilder b(loss);
  Location loc = loss.getLoc();
  TypeRange types = grad->getResultTypes();
  SmallVector<Value> operands{loss.getX(),
                              loss.getW(),
                              loss.getTargets(),
                              loss.getNumValid(),
                              grad.getDloss(),
                              loss.getLoss(),
                              emptyTensor(b, loc, types[0]),
                              emptyTensor(b, loc, types[1])};
  auto fused = nn::LinearCrossEntropyWithGradOp::create(
      b, loc, TypeRange{loss->getResultTypes()[0], types[0], types[1]}, operands, ArrayRef<NamedAttribute>());
  grad->replaceAllUsesWith(fused->getResults().drop_front());
  grad->erase();
  loss->getResult(0).replaceAllUsesWith(fused->getResult(0));
  loss->erase();
}

namespace {
struct FuseLossPass : smet::impl::FuseLossPassBase<FuseLossPass> {
  void runOnOperation() final {
    SmallVector<nn::LinearCrossEntropyGradOp> gradients;
    getOperation().walk([&](nn::LinearCrossEntropyGradOp grad) { gradients.push_back(grad); });
    for (nn::LinearCrossEntropyGradOp grad : gradients)
      if (auto loss = findLoss(grad); loss && succeeded(moveBefore(grad.getDloss(), loss)))
        fuse(loss, grad);
  }
};
} // namespace
