//===- Products.h - dense products on register tiles ------------*- C++ -*-===//
//
// C = A B with rows of B and C in lanes: a group of rows of C times a piece of the lanes stays in registers over the
// whole sum, each element of A is broadcast. Packed token tiles are such a B as they are, so that nothing is copied.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_PRODUCTS_H
#define SMET_LIB_CONVERSION_CPU_PRODUCTS_H

#include "NNKernels.h"

namespace smet {

/// Rows of C in registers at a time: with a piece's width, 24 registers of 32 or 12 of 16 are sums.
constexpr int64_t productRows = 6;
/// Terms that a pass over C adds: 128 rows of 64 lanes are 32 KiB.
constexpr int64_t productDepth = 128;

/// The terms of a sum: pairs (i, d), i in [begin, end), d in [0, depth), in this order.
struct Terms {
  Val begin, end;
  int64_t depth;
};

/// A factor or result of a product: element (row, column) of the last two dimensions of a memref at `outer`, relative
/// to (row, column); of the transpose, where it says so.
struct Matrix {
  mlir::Value memref;
  Vals outer = {};
  Val row = 0, column = 0;
  bool transposed = false;

  Vals at(Val i, Val j) const;
};

class Product {
public:
  /// C is `lanes` wide.
  Product(KernelBuilder &k, const CPUTarget &target, int64_t lanes);

  using Initial = llvm::function_ref<Vals(Val row, int64_t rows, Val lane)>;
  using Left = llvm::function_ref<Val(Val row, Val i, Val d)>;
  using Right = llvm::function_ref<Val(Val i, Val d, Val lane)>;
  using Result = llvm::function_ref<void(Val row, Val lane, Val sum)>;

  /// C[row] = initial[row] + sum over the terms of left(row, i, d) * right(i, d), for every row and piece of the lanes,
  /// given to `result`. left is a scalar, the others are pieces; `initial` has those of a group of rows.
  void emit(int64_t rows, Terms terms, Initial initial, Left left, Right right, Result result) const;

  /// C += A B, where C holds the sum of `before` terms; where that is 0, what it holds is not read. In chunks of the
  /// depth that keep what is used of B in the first-level cache.
  void emit(int64_t rows, int64_t depth, const Matrix &a, const Matrix &b, const Matrix &c, Val before = 0) const;

  /// Pieces of so many rows of C where `condition` holds, else zeros.
  Vals loadIf(Val condition, const Matrix &c, Val row, int64_t rows, Val lane) const;

  /// Lanes in registers at a time, a divisor of the width.
  int64_t piece;

  Val zero() const { return k.zero(k.vectorOf(piece, k.b.getF32Type())); }

private:
  KernelBuilder &k;
  int64_t lanes;
};

/// to(j, i) = from(i, j) for i in [0, rows) and j in [0, columns): in registers, where columns are whole registers.
void transpose(KernelBuilder &k, const CPUTarget &target, Val rows, int64_t columns, const Matrix &from,
               const Matrix &to);

/// Sums over tokens, dW = dyᵀ x: features of x become lanes, so x is transposed once, to [features / 64][tokens][64].
class OuterProduct {
public:
  /// Emits the transposition.
  OuterProduct(KernelBuilder &k, const CPUTarget &target, const Tiles &x);

  /// dw += dyᵀ x over the tokens of tiles [begin, end) of x, in order, where dy has these tiles only; before tile 0, dw
  /// is taken for zero. In parallel over parts of the `rows` rows of dw.
  void emit(const Tiles &dy, Val begin, Val end, int64_t rows, mlir::Value dw) const;

private:
  /// Rows [row, row + rows), columns [column, column + width), width at most `panel`.
  void emitPart(const Tiles &dy, Val begin, Val end, Val row, int64_t rows, mlir::Value dw, Val column,
                int64_t width) const;

  static constexpr int64_t panel = 64;
  KernelBuilder &k;
  CPUTarget target;
  Tiles x;
  mlir::Value transposed; ///< [ceil(features / panel)][tokens][panel]
};

/// Rows of a panel where at most `most` may be in one: panels are about equal and whole groups of rows, so that the
/// last one is not a small rest.
inline int64_t evenPanel(int64_t rows, int64_t most) {
  return llvm::alignTo(llvm::divideCeil(rows, llvm::divideCeil(rows, most)), productRows);
}
/// body(first, count) for panel i of a matrix of `rows` rows in panels of `size`, of which the last may be smaller.
void panelAt(KernelBuilder &k, int64_t rows, int64_t size, Val i,
             llvm::function_ref<void(Val first, int64_t count)> body);
/// The same for all panels, in order or in parallel.
void forPanels(KernelBuilder &k, int64_t rows, int64_t size, bool parallel,
               llvm::function_ref<void(Val first, int64_t count)> body);

/// Token tiles of a work item that go through the panels of a weight together. Few tiles make smaller groups, so that
/// there are some for every thread.
inline int64_t groupOf(const Tiles &x) { return std::clamp<int64_t>(x.tiles / 8, 1, 4); }
/// body(begin, end) in parallel over groups of tiles.
inline void parallelGroups(KernelBuilder &k, const Tiles &x, llvm::function_ref<void(Val, Val)> body) {
  parallelPieces(k, k.index(x.tiles), groupOf(x), body);
}

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_PRODUCTS_H
