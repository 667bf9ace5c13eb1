//===- SparseKernels.h - what the sparse CPU kernels share ------*- C++ -*-===//
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSEKERNELS_H
#define SMET_LIB_CONVERSION_CPU_SPARSEKERNELS_H

#include "CPUKernel.h"
#include "smet/Conversion/Topology.h"

namespace smet {

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

void populateSpmmKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateSddmmKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateAdamKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateSlotKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSEKERNELS_H
