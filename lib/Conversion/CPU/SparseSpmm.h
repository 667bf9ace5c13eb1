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

  Val load(const Tokens &tokens, Val offset) const { return k.loadVector(tokens.flat.get(), {offset}, lanes); }
  void store(Val value, const Tokens &tokens, Val offset) const { k.storeVector(value, tokens.flat.get(), {offset}); }
  Val zero() const { return k.zero(k.vectorOf(lanes, k.b.getF32Type())); }
  /// A weight for all lanes.
  Val weight(Val place) const { return k.broadcast(k.load(values.get(), {place}), lanes); }
};

void emitTilesSpmm(const SpmmOperands &operands, const SpmmChoice &choice);
void emitScatterSpmm(const SpmmOperands &operands, const SpmmChoice &choice);
void emitPanelsSpmm(const SpmmOperands &operands, const SpmmChoice &choice);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSESPMM_H
