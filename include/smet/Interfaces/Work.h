//===- Work.h - counting what an op has to do -------------------*- C++ -*-===//
//
// The pieces that implementations of KernelOpInterface::getWork are written in. Arrays have static shapes.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_INTERFACES_WORK_H
#define SMET_INTERFACES_WORK_H

#include "smet/Interfaces/Shapes.h"

#include "mlir/IR/ValueRange.h"

namespace smet {

inline int64_t elementsOf(mlir::Value array) { return llvm::cast<mlir::ShapedType>(array.getType()).getNumElements(); }

/// The tokens of an activation, `[T, F]` or packed `[T / L, F, L]`; the lanes of an incomplete tile count.
inline int64_t tokensOf(mlir::Value activation) {
  auto shape = llvm::cast<mlir::ShapedType>(activation.getType()).getShape();
  return shape.size() == 3 ? shape[0] * shape[2] : shape[0];
}

/// The bytes of all arrays among the values.
inline int64_t bytesOf(mlir::ValueRange values) {
  int64_t bytes = 0;
  for (mlir::Type type : values.getTypes())
    if (auto array = llvm::dyn_cast<mlir::ShapedType>(type))
      bytes += bytesOf(array).value_or(0);
  return bytes;
}

} // namespace smet

#endif // SMET_INTERFACES_WORK_H
