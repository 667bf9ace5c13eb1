//===- FuseOptimizer.cpp - a layer's gradient is never stored -------------===//
#include "smet/Transforms/Passes.h"

namespace smet {
#define GEN_PASS_DEF_FUSEOPTIMIZERPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

/// The SDDMM whose only use is this optimizer step, or null.
static SddmmOp findGradient(AdamStepOp step) {
  auto sddmm = step.getGrad().getDefiningOp<SddmmOp>();
  bool fits = sddmm && !sddmm.getAccumulate() && sddmm->hasOneUse() && sddmm.getTopology() == step.getTopology();
  return fits ? sddmm : SddmmOp();
}

static void fuse(SddmmOp sddmm, AdamStepOp step) {
  OpBuilder b(step);
  SmallVector<Value> operands{step.getTopology(), sddmm.getX(), sddmm.getDy(), step.getLr(), step.getStep()};
  llvm::append_range(operands, step.getDpsInits());
  auto fused = SddmmAdamOp::create(b, step.getLoc(), step->getResultTypes(), operands,
                                   b.getNamedAttr("adamw", step.getAdamwAttr()));
  step->replaceAllUsesWith(fused);
  step->erase();
  Operation *destination = sddmm.getDvalues().getDefiningOp();
  sddmm->erase();
  if (destination && isOpTriviallyDead(destination))
    destination->erase();
}

namespace {
struct FuseOptimizerPass : smet::impl::FuseOptimizerPassBase<FuseOptimizerPass> {
  void runOnOperation() final {
    getOperation().walk([](AdamStepOp step) {
      if (SddmmOp sddmm = findGradient(step))
        fuse(sddmm, step);
    });
  }
};
} // namespace
