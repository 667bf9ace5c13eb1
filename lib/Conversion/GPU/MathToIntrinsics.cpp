//===- MathToIntrinsics.cpp - fma, sqrt and abs are instructions ----------===//
#include "smet/Conversion/GPU.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace smet {
#define GEN_PASS_DEF_CONVERTMATHTOINTRINSICSPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;

namespace {

template <typename OpT> struct ToIntrinsic : OpRewritePattern<OpT> {
  StringRef name;
  ToIntrinsic(MLIRContext *context, StringRef name) : OpRewritePattern<OpT>(context), name(name) {}
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const final {
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(op, op.getType(), rewriter.getStringAttr(name),
                                                       op->getOperands());
    return success();
  }
};

struct ConvertMathToIntrinsicsPass : smet::impl::ConvertMathToIntrinsicsPassBase<ConvertMathToIntrinsicsPass> {
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<ToIntrinsic<math::FmaOp>>(&getContext(), "llvm.fma");
    patterns.add<ToIntrinsic<math::SqrtOp>>(&getContext(), "llvm.sqrt");
    patterns.add<ToIntrinsic<math::AbsFOp>>(&getContext(), "llvm.fabs");
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
