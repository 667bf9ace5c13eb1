//===- Patterns.h - what the reference lowerings share ----------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_REFERENCE_PATTERNS_H
#define SMET_LIB_CONVERSION_REFERENCE_PATTERNS_H

#include "smet/Conversion/KernelPattern.h"

namespace smet {

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
