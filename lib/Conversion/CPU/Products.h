//===- Products.h - dense products on register tiles ------------*- C++ -*-===//
//
// C = A B with rows of B and C in lanes: a group of rows of C times a piece of the lanes stays in registers over the
// whole sum, each element of A is broadcast. Packed token tiles are such a B as they are, and are never copied; weights
// are, chunk by chunk, where several tiles share the copy.
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
  /// Its columns from `first` on.
  Matrix from(Val first) const;
  /// Its transpose.
  Matrix turned() const;
};

class Product {
public:
  /// C is `lanes` wide, `group` of its rows are in registers at a time.
  Product(KernelBuilder &k, const CPUTarget &target, int64_t lanes, int64_t group = productRows);

  using Left = llvm::function_ref<Val(Val row, Val i, Val d)>;
  using Right = llvm::function_ref<Val(Val i, Val d, Val lane)>;
  using Result = llvm::function_ref<void(Val row, Val lane, Vals sums)>;
  using Ahead = llvm::function_ref<void(Val row, int64_t rows, Val lane)>;

  /// The sums over the terms of left(row, i, d) * right(i, d), for every row and piece of the lanes. left is a scalar,
  /// right and the sums are pieces; `result` has those of a group of rows from `row` on. `ahead` is called before each
  /// group's terms, to ask for memory that is needed after them.
  void emit(int64_t rows, Terms terms, Left left, Right right, Result result, Ahead ahead = nullptr) const;
  /// The same for as many whole groups as hold `rows` rows: left must be defined for those beyond, too.
  void emitGroups(Val rows, Terms terms, Left left, Right right, Result result, Ahead ahead = nullptr) const;

  /// C += A B, where C holds the sum of `before` terms; where that is 0, what it holds is not read. In chunks of the
  /// depth that keep what is used of B in the first-level cache.
  void multiply(int64_t rows, int64_t depth, const Matrix &a, const Matrix &b, const Matrix &c, Val before = 0) const;

  using MatrixAt = llvm::function_ref<Matrix(Val)>;
  /// C[i] = A B[i] for i in [begin, end). Every chunk of A is copied first: it is used for every i, and rows that lie a
  /// power of two apart would evict each other from the first-level cache. So is that of a B stored in bf16. In a
  /// parallel body.
  void multiplyAll(int64_t rows, int64_t depth, const Matrix &a, Val begin, Val end, MatrixAt b, MatrixAt c) const;

  /// The pieces of C from `row` on are these sums, or more by them where `adds`. They are added last: nothing waits for
  /// what C held before.
  void store(Val adds, Vals sums, const Matrix &c, Val row, Val lane) const;

  /// Lanes in registers at a time, a divisor of the width.
  int64_t piece;

private:
  void emitGroup(Val first, int64_t count, Val lane, Terms terms, Left left, Right right, Result result,
                 Ahead ahead) const;
  using Chunk = llvm::function_ref<void(Val begin, int64_t size)>;
  void forChunks(int64_t depth, Chunk body) const;
  /// B, of which rows [begin, begin + size) will be read many times: from a copy if it is stored in bf16.
  Matrix widen(const Matrix &b, Val begin, int64_t size) const;
  /// The terms [begin, begin + size) of C += A B, of which A has only these.
  void emitChunk(int64_t rows, Val begin, int64_t size, const Matrix &a, const Matrix &b, const Matrix &c, Val before,
                 Ahead ahead = nullptr) const;
  KernelBuilder &k;
  CPUTarget target;
  int64_t lanes, group;
};

/// to(i, j) = from(i, j) for i in [0, rows) and j in [0, columns).
void copy(KernelBuilder &k, const CPUTarget &target, int64_t rows, int64_t columns, const Matrix &from,
          const Matrix &to);
/// to(j, i) = from(i, j) for i in [0, rows) and j in [0, columns): in registers, where columns are whole registers.
void transpose(KernelBuilder &k, const CPUTarget &target, Val rows, int64_t columns, const Matrix &from,
               const Matrix &to);

/// Token tiles with features in lanes: [panels][tokens][panel], in the workspace; lanes beyond the last feature hold
/// anything.
class TransposedTiles {
public:
  static constexpr int64_t panel = 64;

  /// At the top of a kernel: room for `tiles` tiles of x.
  TransposedTiles(KernelBuilder &k, const CPUTarget &target, const Tiles &x, int64_t tiles);

  /// Transposes tiles [begin, end), in parallel.
  void fill(Val begin, Val end) const;
  /// Features of a panel from `lane` on, of a token counted from the first tile in here.
  Val load(Val p, Val token, Val lane, int64_t count) const { return k.loadVector(array, {p, token, lane}, count); }
  int64_t panels() const { return llvm::divideCeil(x.features, panel); }

private:
  KernelBuilder &k;
  CPUTarget target;
  Tiles x;
  mlir::Value array;
};

/// dW = dyᵀ x, sums over tokens: x is transposed once.
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

  static constexpr int64_t panel = TransposedTiles::panel;
  KernelBuilder &k;
  CPUTarget target;
  Tiles x;
  TransposedTiles transposed;
};

/// Rows of a panel where about `most` may be in one: panels are about equal, so that the last one is not a small rest,
/// and whole registers, so that they are transposed in these.
inline int64_t evenPanel(int64_t rows, int64_t most) {
  return llvm::alignTo(llvm::divideCeil(rows, llvm::divideCeil(rows, most)), 16);
}
/// body(first, count) for panel i of a matrix of `rows` rows in panels of `size`, of which the last may be smaller.
void panelAt(KernelBuilder &k, int64_t rows, int64_t size, Val i,
             llvm::function_ref<void(Val first, int64_t count)> body);
/// The same for all panels, in order or in parallel.
void forPanels(KernelBuilder &k, int64_t rows, int64_t size, bool parallel,
               llvm::function_ref<void(Val first, int64_t count)> body);

/// body(begin, end, first, count) in parallel over groups of `group` of the tiles [0, tiles) times panels.
void forGroupsOfPanels(KernelBuilder &k, Val tiles, int64_t group, int64_t rows, int64_t panel,
                       llvm::function_ref<void(Val begin, Val end, Val first, int64_t count)> body);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_PRODUCTS_H
