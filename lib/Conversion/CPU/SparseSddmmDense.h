//===- SparseSddmmDense.h - sampled products that are hardly sampled -*- C++ -*-===//
//
// dW of blocks of one weight, where many of them are active: a dot product over tokens for every one loads more than a
// vector a multiply-add, and from afar. So panels of dW (192 x 64, in scratch) are multiplied whole, as a dense
// gradient is, and the active weights are picked from them.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSESDDMMDENSE_H
#define SMET_LIB_CONVERSION_CPU_SPARSESDDMMDENSE_H

#include "Products.h"
#include "SparseSddmmEmitter.h"

namespace smet {

class DenseSddmm {
public:
  /// At the top of a kernel: finds the entries of every panel of `walk`, by rows.
  DenseSddmm(KernelBuilder &k, const CPUTarget &target, const Walk &walk, const Tiles &x, const Tiles &dy);

  /// Adds the gradients of the entries [begin, end), not empty, of the rows [firstRow, lastRow).
  void add(Val begin, Val end, Val firstRow, Val lastRow, const Gradients &gradients) const;

private:
  void addPanel(Val panel, Val row, Val rows, Val firstTile, Val lastTile, mlir::Value scratch) const;
  void pick(Val panel, Val row, Val rows, Val begin, Val end, mlir::Value scratch, const Gradients &gradients) const;

  static constexpr int64_t panelRows = 192, panelColumns = TransposedTiles::panel;
  KernelBuilder &k;
  const Walk &walk;
  Tiles x, dy;
  int64_t chunk; ///< tiles that are transposed together: 1,024 tokens
  Panels panels;
  TransposedTiles transposed; ///< of a chunk
  mlir::Value dyCopy;         ///< [chunk, features, lanes], of a dy stored in bf16
  Product product;
};

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSESDDMMDENSE_H
