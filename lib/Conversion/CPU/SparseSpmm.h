//===- SparseSpmm.h - the kernels of SpMM -----------------------*- C++ -*-===//
//
// y = x Wᵀ, or with `transpose` y = x W, on packed token tiles. SpmmChoice says which kernel and how it is tiled.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSESPMM_H
#define SMET_LIB_CONVERSION_CPU_SPARSESPMM_H

#include "SparseKernelChoice.h"
#include "SparseKernels.h"

namespace smet {

/// What the kernels read and write.
struct SpmmOperands {
  SpmmOperands(SpmmOp op, KernelBuilder &k, const CPUTarget &target, const TopologyArrays &arrays);

  KernelBuilder &k;
  TopologyType type;
  bool transpose, accumulate;
  Walk byOutputs, byInputs; ///< segments are blocks of output features, or of input features
  Tokens x, y;
  Val values;           ///< flat
  int64_t outer, inner; ///< sides of a block: output features, input features
  int64_t lanes, vectors;
  bool copiesTiles; ///< Tiles

  /// `count` token vectors of an array. Tokens are independent, so that x and y may have them in pairs.
  Vals load(Val flat, Val offset, int64_t count) const {
    return loadVectors(k, flat, offset, count, lanes, isPaired(count));
  }
  void store(llvm::ArrayRef<Val> vectors, Val flat, Val offset) const {
    storeVectors(k, vectors, flat, offset, isPaired(vectors.size()));
  }
  Val zero() const { return k.zero(k.vectorOf(lanes, k.b.getF32Type())); }
  /// A weight for all lanes.
  Val weight(Val place) const { return k.broadcast(k.load(values.get(), {place}), lanes); }

private:
  bool isPaired(int64_t count) const { return x.isBF16() && y.isBF16() && count % 2 == 0; }
};

void emitTilesSpmm(const SpmmOperands &operands, const SpmmChoice &choice);
void emitScatterSpmm(const SpmmOperands &operands, const SpmmChoice &choice);
void emitPanelsSpmm(const SpmmOperands &operands, const SpmmChoice &choice);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSESPMM_H
