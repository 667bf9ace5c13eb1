//===- GPUKernel.h - what all GPU kernels share -----------------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_GPU_GPUKERNEL_H
#define SMET_LIB_CONVERSION_GPU_GPUKERNEL_H

#include "smet/Conversion/GPU.h"
#include "smet/Conversion/KernelPattern.h"

namespace smet {

/// Threads that execute each instruction together.
constexpr int64_t warpSize = 32;
/// Bytes of the widest load of a thread, and what arrays are aligned to at least.
constexpr int64_t widestLoad = 16;

/// The largest divisor of `size` that is at most `most`.
int64_t divisorUpTo(int64_t size, int64_t most);

/// A memref [1, F, T] of f32 or bf16: feature-major activations. Tokens are padded to whole loads.
struct Activation {
  mlir::Value memref;
  int64_t features = 0, tokens = 0;

  /// Null memref if the value is something else.
  static Activation of(mlir::Value value);
  explicit operator bool() const { return static_cast<bool>(memref); }
  Val load(KernelBuilder &k, Val feature, Val token, int64_t count) const {
    return k.loadVector(memref, {0, feature, token}, count);
  }
  void store(KernelBuilder &k, Val value, Val feature, Val token) const {
    k.storeVector(value, memref, {0, feature, token});
  }
};

/// Builds the inside of launches.
class GPUBuilder : public KernelBuilder {
public:
  GPUBuilder(mlir::OpBuilder &builder, mlir::Location loc);

  /// body(block, thread) on `blocks` blocks of `threads` threads.
  void launch(Val blocks, int64_t threads, llvm::function_ref<void(Val, Val)> body);
  /// body(i) for i in [0, n), each on a thread of its own.
  void forEachThread(Val n, llvm::function_ref<void(Val)> body);
  /// body(i, lanes) for pieces of [0, n), each on a thread of its own: `lanes` elements from i on, and where they make
  /// no whole pieces the last ones alone, with lanes = 0.
  void forEachPiece(int64_t n, int64_t lanes, llvm::function_ref<void(Val, int64_t)> body);
  /// One element of an array, or a vector of `lanes`.
  Val loadPiece(mlir::Value array, Val i, int64_t lanes) {
    return lanes ? loadVector(array, {i}, lanes) : load(array, {i});
  }
  void storePiece(Val value, mlir::Value array, Val i, int64_t lanes) {
    lanes ? storeVector(value, array, {i}) : store(value, array, {i});
  }
  /// body(i, lane) for i in [0, n), each on a warp of its own.
  void forEachWarp(Val n, llvm::function_ref<void(Val, Val)> body);

  /// An array that the threads of a block share; in a launch.
  mlir::Value shared(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// All threads of a block have come here, and see what the others stored.
  void barrier();
  /// The value of lane `lane xor mask` of the warp.
  Val shuffleXor(Val value, int64_t mask);
  /// The sum of `lanes` neighbouring lanes of a warp, a power of two, in each of them.
  Val warpSum(Val value, int64_t lanes = warpSize);
  /// The largest value of a warp, in each lane.
  Val warpMax(Val value);

private:
  mlir::Operation *launched = nullptr; ///< whose inside is built
};

/// A pattern whose body is `emit` on a GPUBuilder.
template <typename OpT> struct GPUKernel : KernelPattern<OpT> {
  using KernelPattern<OpT>::KernelPattern;
  virtual mlir::LogicalResult emit(OpT op, GPUBuilder &k) const = 0;
  mlir::LogicalResult emit(OpT op, KernelBuilder &k) const final {
    GPUBuilder builder(k.b, k.loc);
    return emit(op, builder);
  }
};

void populateElementwiseGPUKernels(mlir::RewritePatternSet &patterns);
void populateSpmmGPUKernels(mlir::RewritePatternSet &patterns);
void populateSddmmGPUKernels(mlir::RewritePatternSet &patterns);
void populateAdamGPUKernels(mlir::RewritePatternSet &patterns);
void populateSlotGPUKernels(mlir::RewritePatternSet &patterns);
void populateRopeGPUKernels(mlir::RewritePatternSet &patterns);
void populateEmbeddingGPUKernels(mlir::RewritePatternSet &patterns);
void populateLayoutGPUKernels(mlir::RewritePatternSet &patterns);
void populateNormGPUKernels(mlir::RewritePatternSet &patterns);
void populateLinearGPUKernels(mlir::RewritePatternSet &patterns);
void populateLossGPUKernels(mlir::RewritePatternSet &patterns);
void populateTopologyGPUKernels(mlir::RewritePatternSet &patterns);
void populateAttentionGPUKernels(mlir::RewritePatternSet &patterns);
void populateAttentionGradGPUKernels(mlir::RewritePatternSet &patterns);
void populateCachedAttentionGPUKernels(mlir::RewritePatternSet &patterns);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_GPUKERNEL_H
