//===- Turn.h - from rows to columns ----------------------------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_GPU_TURN_H
#define SMET_LIB_CONVERSION_GPU_TURN_H

#include "GPUKernel.h"

namespace smet {

/// A launch of write(i, j, read(j, i)) for i in [0, m) and j in [0, n), each by neighbours together. Values are f32.
void turn(GPUBuilder &k, int64_t m, int64_t n, llvm::function_ref<Val(Val, Val)> read,
          llvm::function_ref<void(Val, Val, Val)> write);
/// y[f, token] = read(token, f) for the first `tokens`, zero for those behind.
void turnInto(GPUBuilder &k, const Activation &y, int64_t tokens, llvm::function_ref<Val(Val, Val)> read);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_TURN_H
