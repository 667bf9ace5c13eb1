//===- Patterns.h - what the reference lowerings share ----------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_REFERENCE_PATTERNS_H
#define SMET_LIB_CONVERSION_REFERENCE_PATTERNS_H

#include "smet/Conversion/KernelBuilder.h"

#include "mlir/IR/PatternMatch.h"

namespace smet {

/// A lowering of an op on memrefs; `emit` writes the loops, then the op is erased.
template <typename OpT> struct ReferencePattern : mlir::OpRewritePattern<OpT> {
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

/// Static size of a memref's dimension.
inline int64_t sizeOf(mlir::Value memref, unsigned dim) {
  return llvm::cast<mlir::MemRefType>(memref.getType()).getDimSize(dim);
}
inline mlir::Type elementOf(mlir::Value memref) {
  return llvm::cast<mlir::MemRefType>(memref.getType()).getElementType();
}

void populateNNReference(mlir::RewritePatternSet &patterns);
void populateSparseReference(mlir::RewritePatternSet &patterns);

} // namespace smet

#endif // SMET_LIB_CONVERSION_REFERENCE_PATTERNS_H
