//===- PTX.h - kernels of the NVVM dialect to PTX ---------------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_CUDA_PTX_H
#define SMET_LIB_CONVERSION_CUDA_PTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace smet {

/// The features to compile for: the given ones, or the oldest PTX that has what the chip has and smet needs. An error
/// names the chips that smet compiles for, or says what is wrong with the features.
llvm::Expected<std::string> featuresFor(llvm::StringRef chip, llvm::StringRef features);

/// The PTX of a gpu.module in the LLVM and NVVM dialects. Arithmetic is IEEE's: divisions and square roots are rounded,
/// denormal numbers kept, and only what says `contract` is contracted. Thread-safe.
llvm::Expected<std::string> emitPTX(mlir::gpu::GPUModuleOp module, llvm::StringRef chip, llvm::StringRef features);

/// How a kernel accesses memory: how often each width in bytes stands in its PTX.
struct Accesses {
  std::map<int64_t, int64_t> globalLoads, globalStores, asyncCopies;
  int64_t local = 0; ///< loads and stores of a thread's own memory
  int64_t mma = 0;   ///< tensor core instructions
};
/// Of the entry of this name.
Accesses countAccesses(llvm::StringRef ptx, llvm::StringRef entry);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CUDA_PTX_H
