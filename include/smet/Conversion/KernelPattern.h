//===- KernelPattern.h - an op on memrefs becomes loops ---------*- C++ -*-===//
//
// What the kernel conversions of all targets share: one pattern an op, and the pass around them.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_CONVERSION_KERNELPATTERN_H
#define SMET_CONVERSION_KERNELPATTERN_H

#include "smet/Conversion/KernelBuilder.h"

#include "mlir/IR/PatternMatch.h"

namespace smet {

/// A pattern whose body is `emit`: it writes the loops of an op on memrefs, or fails before it created anything. The op
/// is erased on success.
template <typename OpT> struct KernelPattern : mlir::OpRewritePattern<OpT> {
  using mlir::OpRewritePattern<OpT>::OpRewritePattern;
  virtual mlir::LogicalResult emit(OpT op, KernelBuilder &k) const = 0;

  mlir::LogicalResult matchAndRewrite(OpT op, mlir::PatternRewriter &rewriter) const final {
    if (op->getNumResults())
      return mlir::failure();
    KernelBuilder k(rewriter, op.getLoc());
    if (failed(emit(op, k)))
      return mlir::failure();
    rewriter.eraseOp(op);
    return mlir::success();
  }
};

inline bool isArrayOf(mlir::Value value, llvm::function_ref<bool(mlir::Type)> isElement) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(value.getType());
  return type && isElement(type.getElementType()) && type.getLayout().isIdentity();
}
inline bool isF32(mlir::Value value) {
  return isArrayOf(value, [](mlir::Type element) { return element.isF32(); });
}
/// Whether an array's elements are computed with in f32: KernelBuilder's loads and stores convert bf16.
inline bool isF32OrBF16(mlir::Value value) {
  return isArrayOf(value, [](mlir::Type element) { return element.isF32() || element.isBF16(); });
}

/// Rewrites every smet and nn op below `root` by its pattern. One that is not on whole memrefs is an error, and so is
/// one that is left, which names `lowering` ("CPU kernel", say). Topologies were read through their arrays: their packs
/// go where nothing uses them.
mlir::LogicalResult convertKernels(mlir::Operation *root, mlir::RewritePatternSet patterns, llvm::StringRef lowering);

} // namespace smet

#endif // SMET_CONVERSION_KERNELPATTERN_H
