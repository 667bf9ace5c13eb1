//===- SparseKernels.h - what the sparse CPU kernels share ------*- C++ -*-===//
//
// Kernels of the smet dialect read the topology's arrays directly. The reference target takes the same arrays through
// sparse_tensor.assemble and positions / coordinates / values, which fold to these loads.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSEKERNELS_H
#define SMET_LIB_CONVERSION_CPU_SPARSEKERNELS_H

#include "CPUKernel.h"
#include "smet/Dialect/Smet/IR/Smet.h"

namespace smet {

/// The arrays of a topology operand, from its smet.topology.pack on memrefs.
struct TopologyArrays {
  mlir::Value positions, coordinates, tPositions, tCoordinates, tPerm;
};
mlir::FailureOr<TopologyArrays> topologyArrays(mlir::Value topology);

/// A block CSR walked by segments (row blocks; column blocks when transposed). An entry of the walk is a slot, or
/// stands for slot perm[entry].
struct Walk {
  mlir::Value positions, coordinates, perm;
  int64_t segments;

  Val slot(KernelBuilder &k, Val entry) const { return perm ? k.toIndex(k.load(perm, {entry})) : entry; }
  Val coordinate(KernelBuilder &k, Val entry) const { return k.toIndex(k.load(coordinates, {entry})); }
  Val begin(KernelBuilder &k, Val segment) const { return k.toIndex(k.load(positions, {segment})); }
  Val end(KernelBuilder &k, Val segment) const { return begin(k, segment + 1); }
};
Walk rowWalk(TopologyType type, const TopologyArrays &arrays);
Walk columnWalk(TopologyType type, const TopologyArrays &arrays);

/// Whether a matrix of `nnz` blocks has more than a third of its weights. Below that, few entries meet in a panel.
Val isDense(KernelBuilder &k, TopologyType type, Val nnz);

/// The entries of every segment of a walk split by panels of coordinates, so that the rows of a panel stay in a near
/// cache while all segments use them. Positions are found by a parallel loop at the top of the kernel, for units of
/// `size` coordinates; a panel is `units` of them.
class Panels {
public:
  Panels(KernelBuilder &k, const Walk &walk, int64_t coordinates, int64_t size, Val units = 1);

  Val count() const { return (Val(total) + units - 1) / units; }
  /// The first coordinate of a panel.
  Val first(Val panel) const { return panel * units * size; }
  /// Entries [begin(segment, panel), end(segment, panel)) have their coordinates in the panel.
  Val begin(Val segment, Val panel) const { return position(segment, panel * units); }
  Val end(Val segment, Val panel) const { return position(segment, k.min((panel + 1) * units, total)); }

private:
  Val position(Val segment, Val unit) const { return k.toIndex(k.load(positions, {unit * walk.segments + segment})); }

  KernelBuilder &k;
  const Walk &walk;
  int64_t size, total; ///< coordinates of a unit, units
  Val units;
  mlir::Value positions; ///< [total + 1][segments]
};

/// An activation `[tiles, features, width]` seen as one array; offsets are in elements.
struct Tokens {
  Val flat, tiles;
  int64_t features, width;

  Tokens(KernelBuilder &k, mlir::Value memref);
  int64_t tileSize() const { return features * width; }
  /// Stored in bf16: kernels that read an element several times read an f32 copy.
  bool isBF16() const;
};

/// `count` vectors from an offset on. With `pairs`, which takes an even count and lanes that are independent, what is
/// stored in bf16 comes as even and odd lanes in turn.
Vals loadVectors(KernelBuilder &k, Val flat, Val offset, int64_t count, int64_t lanes, bool pairs);
void storeVectors(KernelBuilder &k, llvm::ArrayRef<Val> vectors, Val flat, Val offset, bool pairs);

/// Whether the value is a packed activation in f32 or bf16 that is not empty (the only kind that these kernels take).
bool isPacked(mlir::Value value);

/// Emits body(begin, size) over [0, n) in pieces of `step`: a loop over the full ones, then the rest.
void forPieces(KernelBuilder &k, int64_t n, int64_t step, llvm::function_ref<void(Val, int64_t)> body);
/// body(i) for i in [begin, end) in steps of `lanes`, then rest(i) one by one.
void vectorLoop(KernelBuilder &k, Val begin, Val end, int64_t lanes, llvm::function_ref<void(Val)> body,
                llvm::function_ref<void(Val)> rest);

void populateSpmmKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateSddmmKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateAdamKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateSlotKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSEKERNELS_H
