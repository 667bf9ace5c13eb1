//===- KernelPattern.cpp - an op on memrefs becomes loops -----------------===//
#include "smet/Conversion/KernelPattern.h"

#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace smet;

LogicalResult smet::convertKernels(Operation *root, RewritePatternSet patterns, StringRef lowering) {
  walkAndApplyPatterns(root, std::move(patterns));
  bool good = true;
  root->walk([&](KernelOpInterface op) {
    if (isa<MemRefType>(op->getOperands().back().getType())) {
      op->emitOpError("has no ") << lowering << " for these operand types";
      good = false;
    }
  });
  root->walk([](TopologyPackOp pack) {
    if (pack->use_empty())
      pack.erase();
  });
  return success(good);
}
