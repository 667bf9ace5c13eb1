//===- NNKernels.h - what the kernels of the nn dialect share ---*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_CPU_NNKERNELS_H
#define SMET_LIB_CONVERSION_CPU_NNKERNELS_H

#include "CPUKernel.h"
#include "smet/Dialect/NN/IR/NN.h"

#include <numeric>

namespace smet {

/// Packed token tiles: a memref [tiles, features, lanes] of f32 or bf16, not empty.
struct Tiles {
  mlir::Value memref;
  int64_t tiles = 0, features = 0, lanes = 0;

  /// Null memref if the value is something else.
  static Tiles of(mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::MemRefType>(value.getType());
    if (!isF32OrBF16(value) || type.getRank() != 3 || !type.hasStaticShape() || !type.getNumElements())
      return {};
    return {value, type.getDimSize(0), type.getDimSize(1), type.getDimSize(2)};
  }
  explicit operator bool() const { return static_cast<bool>(memref); }
  /// The lanes of a feature.
  Val load(KernelBuilder &k, Val tile, Val feature) const { return k.loadVector(memref, {tile, feature, 0}, lanes); }
  void store(KernelBuilder &k, Val value, Val tile, Val feature) const {
    k.storeVector(value, memref, {tile, feature, 0});
  }
};

/// Registers' worth of f32 lanes that a kernel with several accumulators works on at a time: a divisor of `lanes`.
inline int64_t pieceOf(int64_t lanes, const CPUTarget &target) {
  int64_t registers = target.numRegisters >= 32 ? 4 : 2;
  return std::gcd(lanes, target.vectorBits / 32 * registers);
}

void populateElementwiseKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateNormKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateEmbeddingKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateRopeKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateAttentionKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateLinearKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateLossKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);
void populateLayoutKernels(mlir::RewritePatternSet &patterns, const CPUTarget &target);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_NNKERNELS_H
