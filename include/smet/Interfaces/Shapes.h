//===- Shapes.h - verifying the shapes of an op's arrays --------*- C++ -*-===//
//
// A shape is written as letters, one per dimension ("TF": tokens x features). The first array that has a letter fixes
// its size, every later one must agree, and the message names both.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_INTERFACES_SHAPES_H
#define SMET_INTERFACES_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <string>

namespace smet {

/// Collects what is known of the sizes of one op's arrays. Dynamic sizes agree with everything. Every method that fails
/// has emitted an error on the op.
class ShapeVerifier {
public:
  explicit ShapeVerifier(mlir::Operation *op) : op(op) {}

  /// Fixes a letter's size before any array is looked at; `origin` completes "expected [8], ...".
  void bind(char letter, int64_t size, const llvm::Twine &origin);
  /// The size of a letter, or kDynamic.
  int64_t size(char letter) const;

  /// An array whose shape is `letters`; a final `*` stands for any further dimensions.
  mlir::LogicalResult array(llvm::StringRef name, mlir::Value value, llvm::StringRef letters);
  /// An activation of two letters (tokens, features): [T, F], or packed token tiles [ceil(T / L), F, L].
  mlir::LogicalResult tokens(llvm::StringRef name, mlir::Value value, llvm::StringRef letters);
  /// An activation in packed token tiles.
  mlir::LogicalResult packed(llvm::StringRef name, mlir::Value value, llvm::StringRef letters);
  /// An array of the same shape as the first one given to this method.
  mlir::LogicalResult sameShape(llvm::StringRef name, mlir::Value value);

  /// Float arrays of one op have one element type, where bf16 counts as f32: it is a form of storage.
  mlir::LogicalResult sameFloat(llvm::StringRef name, mlir::Value value);
  /// The tokens `letter` are whole sequences of `length`, as far as that can be known.
  mlir::LogicalResult wholeSequences(char letter, int64_t length);

private:
  struct Size {
    int64_t value;
    std::string origin;
  };
  struct Named {
    std::string name;
    mlir::ShapedType type;
  };

  mlir::LogicalResult mismatch(llvm::StringRef name, mlir::ShapedType type, llvm::StringRef expected,
                               llvm::StringRef origin = "");
  std::string describe(llvm::StringRef letters) const;
  std::string describePacked(llvm::StringRef letters) const;
  bool agrees(char letter, int64_t size, llvm::StringRef name, mlir::ShapedType type);
  mlir::LogicalResult checkTiles(llvm::StringRef name, mlir::ShapedType type, char letter);

  mlir::Operation *op;
  std::map<char, Size> sizes;
  /// Tiles and lanes of the packed activations with this letter of tokens.
  std::map<char, Size> tiles, lanes;
  Named first, firstFloat, layout;
};

/// "[64, ?]", the shape as messages print it.
std::string shapeText(mlir::ShapedType type);

/// Bytes of an array in memory; none if its shape is dynamic, its elements are no numbers, or 64 bits cannot count
/// them.
std::optional<int64_t> bytesOf(mlir::ShapedType type);

/// All of an op's arrays are tensors or all are memrefs.
mlir::LogicalResult verifyNotMixed(mlir::Operation *op);
/// An attribute that counts something: emits an error unless it is positive.
mlir::LogicalResult verifyPositive(mlir::Operation *op, llvm::StringRef attribute, int64_t value);

/// Verifies a KernelOp whose operands, in order, have the shapes `letters`; operands that are no arrays are skipped.
template <typename OpT>
mlir::LogicalResult verifyKernel(OpT op, ShapeVerifier &shapes, llvm::ArrayRef<llvm::StringRef> letters) {
  if (mlir::failed(verifyNotMixed(op)))
    return mlir::failure();
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    llvm::StringRef name = OpT::operandNames[i];
    if (!mlir::isa<mlir::ShapedType>(value.getType()))
      continue;
    if (mlir::failed(op.isTokens(i) ? shapes.tokens(name, value, letters[i]) : shapes.array(name, value, letters[i])) ||
        mlir::failed(shapes.sameFloat(name, value)))
      return mlir::failure();
  }
  return mlir::success();
}

/// Verifies a KernelOp whose arrays all have the same shape, whatever it is.
template <typename OpT> mlir::LogicalResult verifyElementwise(OpT op) {
  ShapeVerifier shapes(op);
  if (mlir::failed(verifyNotMixed(op)))
    return mlir::failure();
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (mlir::failed(shapes.sameShape(OpT::operandNames[i], value)) ||
        mlir::failed(shapes.sameFloat(OpT::operandNames[i], value)))
      return mlir::failure();
  return mlir::success();
}

} // namespace smet

#endif // SMET_INTERFACES_SHAPES_H
