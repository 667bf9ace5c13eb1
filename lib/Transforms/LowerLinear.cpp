//===- LowerLinear.cpp - smet.linear to smet.spmm -------------------------===//
#include "smet/Transforms/Passes.h"

namespace smet {
#define GEN_PASS_DEF_LOWERLINEARPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {
struct LowerLinearPass : smet::impl::LowerLinearPassBase<LowerLinearPass> {
  void runOnOperation() final {
    getOperation().walk([](LinearOp op) {
      OpBuilder b(op);
      auto spmm = SpmmOp::create(b, op.getLoc(), op->getResultTypes(), op->getOperands());
      spmm->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      op->replaceAllUsesWith(spmm);
      op->erase();
    });
  }
};
} // namespace
