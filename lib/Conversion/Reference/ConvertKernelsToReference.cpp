//===- ConvertKernelsToReference.cpp - the pass and its pipeline ----------===//
#include "smet/Conversion/Reference.h"

#include "Patterns.h"
#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "mlir/Dialect/SparseTensor/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace smet {
#define GEN_PASS_DEF_CONVERTKERNELSTOREFERENCEPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {
struct ConvertKernelsToReferencePass : smet::impl::ConvertKernelsToReferencePassBase<ConvertKernelsToReferencePass> {
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    populateNNReference(patterns);
    populateSparseReference(patterns);
    if (failed(convertKernels(getOperation(), std::move(patterns), "reference lowering")))
      signalPassFailure();
  }
};
} // namespace

void smet::buildReferenceKernelPipeline(OpPassManager &kernel) {
  kernel.addPass(createConvertKernelsToReferencePass());
  kernel.addPass(createSparsificationAndBufferizationPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(createConvertLinalgToLoopsPass());
  kernel.addPass(createCanonicalizerPass());
}
