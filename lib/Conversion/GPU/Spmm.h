//===- Spmm.h - SpMM in chunks of entries -----------------------*- C++ -*-===//
//
// Entries are cut into chunks of one size, whatever rows they belong to, so that a long row does not stall the grid. A
// row that begins in a chunk is stored; the sum of one that came from an earlier chunk goes to scratch (a carry), and a
// second launch adds these to their rows, chunks in order.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_GPU_SPMM_H
#define SMET_LIB_CONVERSION_GPU_SPMM_H

#include "GPUKernel.h"
#include "smet/Conversion/Topology.h"

namespace smet {

/// One product y = x Wᵀ, or y = x W by the transposed index.
struct ChunkedSpmm {
  ChunkedSpmm(GPUBuilder &k, SpmmOp op, const TopologyArrays &arrays);

  /// [begin, end) of a chunk's entries; none, if begin is not before end.
  std::pair<Val, Val> entriesOf(Val chunk) const;
  /// Whether a segment's sum in the chunk that begins with entry `begin` is a carry.
  Val isCarry(Val segment, Val begin) const {
    return k.compare(KernelBuilder::Compare::lt, walk.begin(k, segment), begin);
  }
  /// A sum of tokens from `token` on, of row `row` of a segment; it is a carry, or it is not.
  void storeCarry(Val sum, Val chunk, Val row, Val token) const { k.storeVector(sum, carries, {chunk, row, token}); }
  void storeSum(Val sum, Val segment, Val row, Val token) const;
  /// The second launch; rows without entries become zero.
  void addCarries() const;

  GPUBuilder &k;
  TopologyType type;
  bool transpose, accumulate;
  Walk walk;
  Activation x, y;
  mlir::Value values;
  int64_t outer, inner; ///< rows of a block in y and in x
  int64_t chunks;

private:
  mlir::Value carries; ///< [chunks, outer, tokens]
  Val nnz, perChunk;
};

/// The first launch: on tensor cores.
void multiplyOnTensorCores(const ChunkedSpmm &spmm);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_SPMM_H
