//===- KernelPattern.cpp - an op on memrefs becomes loops -----------------===//
#include "smet/Conversion/KernelPattern.h"

#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace smet;

/// Kernels work on whole arrays: memrefs without strides whose sizes are known, except for the number of slots.
static bool hasWholeArrays(KernelOpInterface op) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      return isa<TopologyType>(operand.get().getType());
    ArrayRef<int64_t> sizes = type.getShape().drop_front(op.isSlots(operand.getOperandNumber()) ? 1 : 0);
    return type.getLayout().isIdentity() && llvm::none_of(sizes, ShapedType::isDynamic);
  });
}

LogicalResult smet::convertKernels(Operation *root, RewritePatternSet patterns, StringRef lowering) {
  bool good = true;
  root->walk([&](KernelOpInterface op) {
    if (hasWholeArrays(op))
      return;
    op->emitOpError("needs contiguous memrefs of static shape (but for the number of slots) to become a kernel");
    good = false;
  });
  if (!good)
    return failure();
  walkAndApplyPatterns(root, std::move(patterns));
  root->walk([&](Operation *op) {
    if (!isa<KernelOpInterface, RoutineOp>(op))
      return;
    op->emitOpError("has no ") << lowering << " for these operand types";
    good = false;
  });
  root->walk([](TopologyPackOp pack) {
    if (pack->use_empty())
      pack.erase();
  });
  return success(good);
}
