//===- NNKernels.h - what the kernels of the nn dialect share ---*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_CPU_NNKERNELS_H
#define SMET_LIB_CONVERSION_CPU_NNKERNELS_H

#include "smet/Conversion/CPU.h"
#include "smet/Conversion/KernelBuilder.h"
#include "smet/Dialect/NN/IR/NN.h"

#include <numeric>

namespace smet {

/// Packed token tiles: a memref [tiles, features, lanes] of f32.
struct Tiles {
  mlir::Value memref;
  int64_t tiles = 0, features = 0, lanes = 0;

  /// Null memref if the value is something else.
  static Tiles of(mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::MemRefType>(value.getType());
    if (!type || type.getRank() != 3 || !type.hasStaticShape() || !type.getElementType().isF32())
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

/// A pattern whose body is `LogicalResult emit(OpT op, KernelBuilder &k)`; the op is erased on success.
template <typename OpT> struct KernelPattern : mlir::OpRewritePattern<OpT> {
  CPUTarget target;

  KernelPattern(mlir::MLIRContext *context, const CPUTarget &target)
      : mlir::OpRewritePattern<OpT>(context), target(target) {}
  virtual mlir::LogicalResult emit(OpT op, KernelBuilder &k) const = 0;

  mlir::LogicalResult matchAndRewrite(OpT op, mlir::PatternRewriter &rewriter) const final {
    if (op->getNumResults())
      return mlir::failure();
    KernelBuilder k(rewriter, op.getLoc());
    if (failed(emit(op, k)))
      return mlir::failure();
    rewriter.eraseOp(op);
    return mlir::success();
  }
};

/// Registers' worth of f32 lanes that a kernel with several accumulators works on at a time: a divisor of `lanes`.
inline int64_t pieceOf(int64_t lanes, const CPUTarget &target) {
  int64_t registers = target.numRegisters >= 32 ? 4 : 2;
  return std::gcd(lanes, target.vectorBits / 32 * registers);
}

/// Splits [0, n) into ranges of at most `chunk` for the threads: body(begin, end).
inline void parallelChunks(KernelBuilder &k, int64_t n, int64_t chunk, llvm::function_ref<void(Val, Val)> body) {
  k.parallel(static_cast<int64_t>(llvm::divideCeil(n, chunk)), [&](Val i) {
    Val begin = i * k.index(chunk);
    body(begin, k.min(begin + k.index(chunk), k.index(n)));
  });
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
