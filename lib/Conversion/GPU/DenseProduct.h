//===- DenseProduct.h - dense matrix products by SIMT -----------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_GPU_DENSEPRODUCT_H
#define SMET_LIB_CONVERSION_GPU_DENSEPRODUCT_H

#include "GPUKernel.h"

namespace smet {

/// A matrix in memory, rows one after the other: the last two dimensions of a memref, or some columns of it. Threads
/// take pieces of four elements of a row; what lies outside reads as zero and is not written.
struct DenseMatrix {
  mlir::Value memref;
  Val rows, columns;
  Val firstColumn = 0;
  bool wholePieces = false; ///< columns, first and all, are multiples of four

  /// [features, tokens]
  static DenseMatrix of(const Activation &activation);
  /// A memref of rank 2.
  static DenseMatrix of(mlir::Value memref);
  /// `count` columns from `first` on, both multiples of four.
  DenseMatrix slice(Val first, Val count) const;

  Val load(KernelBuilder &k, Val row, Val column) const;
  /// Where `adds`, a condition, is given and true, to what is there.
  void store(KernelBuilder &k, Val piece, Val row, Val column, Val adds = {}) const;

private:
  Vals at(Val row, Val column) const;
};

/// An operand of a product, whose sums run along its rows (then `alongRows`) or down its columns.
struct Factor {
  DenseMatrix matrix;
  bool alongRows;

  Val depth() const { return alongRows ? matrix.columns : matrix.rows; }
  Val outer() const { return alongRows ? matrix.rows : matrix.columns; }
};

/// A launch of store(row, column, piece) for all pieces of the product C[i, j] = sum over d of left(i, d) right(d, j),
/// in the order of d. Pieces are four columns and may lie outside of C.
void denseProduct(GPUBuilder &k, const Factor &left, const Factor &right,
                  llvm::function_ref<void(Val, Val, Val)> store);
/// A launch of the product into `c`.
void denseProduct(GPUBuilder &k, const Factor &left, const Factor &right, const DenseMatrix &c);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_DENSEPRODUCT_H
