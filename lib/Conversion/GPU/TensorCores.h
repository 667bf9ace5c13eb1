//===- TensorCores.h - mma.sync and what feeds it ---------------*- C++ -*-===//
//
// Products of bf16 on tensor cores, sums in f32; sm_80 and newer. Rectangles of both factors travel by cp.async to
// shared memory, some stages ahead of their use, and from there by ldmatrix to the fragments of mma.sync.m16n8k16. A
// product is that of a left factor [m, depth] and a right one [depth, n].
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_GPU_TENSORCORES_H
#define SMET_LIB_CONVERSION_GPU_TENSORCORES_H

#include "GPUKernel.h"
#include "smet/Dialect/Smet/IR/Smet.h"

namespace smet {

/// m, n and depth of fragments; two of n are loaded together.
constexpr int64_t fragment = 16;
/// Stages of a pipeline, of which all but one are ahead.
constexpr int64_t numStages = 4;

/// Where the choice between tensor cores and SIMT is made. On tensor cores: products of blocks from 16 x 16 on whose
/// factors are bf16, with whole fragments of tokens. SIMT has everything else.
bool fitsTensorCores(TopologyType type, llvm::ArrayRef<mlir::Value> factors, int64_t tokens);

/// Where to store piece number `piece` of a row, of which a row has `perRow`, and a pass over the banks takes `perPass`
/// (powers of two): the same piece of neighbouring rows, and the pieces of a row, then lie in different banks.
Val swizzle(GPUBuilder &k, Val row, Val piece, int64_t perRow, int64_t perPass);

/// A rectangle of a factor in shared memory, one for each stage: `size` of m or n, `depth` (powers of two from 16 on).
class StagedFactor {
public:
  /// In a launch. `alongDepth`: neighbours in memory are neighbours of the depth.
  StagedFactor(GPUBuilder &k, int64_t size, int64_t depth, bool alongDepth);

  /// The block's `threads` threads ask for a stage. at(row, column): the indices in `source` of an element, columns
  /// being neighbours there.
  void fetch(Val stage, Val thread, int64_t threads, mlir::Value source, llvm::function_ref<Vals(Val, Val)> at) const;
  /// A warp's fragment of a left factor from (m, depth) on: four words a lane.
  Vals left(Val stage, Val m, Val depth, Val lane) const { return load(stage, m, depth, lane, alongDepth); }
  /// Two fragments of a right factor, from n and from n + 8 on: two words a lane of each.
  Vals right(Val stage, Val n, Val depth, Val lane) const { return load(stage, n, depth, lane, !alongDepth); }

  int64_t size, depth;

private:
  /// The four matrices of a square, numbered down its columns or along its rows.
  Vals load(Val stage, Val at, Val depth, Val lane, bool rowsInTurn) const;

  GPUBuilder &k;
  bool alongDepth;
  int64_t rows, pieces; ///< of 16 bytes, in a row
  mlir::Value memory;
};

/// The sums of a product of `m` x `n` that a warp keeps in registers, multiples of 16.
class WarpSums {
public:
  WarpSums(GPUBuilder &k, int64_t m, int64_t n) : k(k), m(m), n(n) {}

  Vals zeros() const { return Vals(m * n / warpSize, k.zero(k.b.getF32Type())); }
  /// Adds the product over `depths` of a stage from `depth` on, of the factors from m0 and n0 on.
  Vals multiply(Vals sums, const StagedFactor &left, Val m0, const StagedFactor &right, Val n0, Val stage, Val depth,
                int64_t depths, Val lane) const;
  /// body(i, j, two) for the sums (i, j) and (i, j + 1) that a lane has.
  void forEachPair(const Vals &sums, Val lane, llvm::function_ref<void(Val, Val, Val)> body) const;

private:
  GPUBuilder &k;
  int64_t m, n;
};

/// What a block does in a pipeline's step: where its data is, known a step before it is asked for; asking for it (step,
/// stage, place); and computing with it, once it is there (step, stage, carried).
struct PipelineStep {
  llvm::function_ref<Vals(Val)> locate;
  llvm::function_ref<void(Val, Val, const Vals &)> fetch;
  llvm::function_ref<Vals(Val, Val, Vals)> compute;
};
/// Steps [0, steps), at least one, the same for all threads of the block; the last carried values.
Vals pipeline(GPUBuilder &k, Val steps, Vals inits, const PipelineStep &step);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_TENSORCORES_H
