//===- Compiler.h - module + options -> program file ------------*- C++ -*-===//
#ifndef SMET_COMPILER_COMPILER_H
#define SMET_COMPILER_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace smet {

enum class Target { Reference, CPU, GPUEmulator, CUDA };

/// "reference", "cpu", "gpu-emulator", "cuda".
llvm::StringRef name(Target target);

/// The GPU that is compiled for, as the options of smet-to-cuda.
struct GPUChip {
  std::string name = "sm_90a";
  std::string features;       ///< version of PTX, as "+ptx80"; empty: by the chip
  std::string format = "bin"; ///< "isa", "bin" or "fatbin"
};

struct CompileOptions {
  Target target = Target::CPU;
  /// For the emulator: kernels announce what they access, for its checks.
  bool check = false;
  /// Where the IR after each stage is written (01-model.mlir, 02-entry-points.mlir, ...); empty: nowhere.
  std::string dumpDirectory;
  /// For the target cuda.
  GPUChip chip;
  /// The processor that is compiled for: as LLVM names it ("x86-64-v3", "znver4"), or "host", this machine's.
  std::string cpu = "host";
  /// The folder that keeps the objects of kernels; empty: none.
  std::string kernelCache;
};

/// What a compilation did.
struct CompileReport {
  int64_t compiled = 0;  ///< kernels
  int64_t fromCache = 0; ///< kernels whose objects were there
};

/// Compiles a module to the program file `path` (runtime/program/Abi.h). The module has a function @forward, or
/// @prefill and @decode, at model level (then `modelLevel` is true), or entry points as smet-build-steps makes them. It
/// is consumed. Diagnostics of passes go to the context's handler. The file is written under a temporary name and
/// renamed.
llvm::Expected<CompileReport> compileProgram(mlir::ModuleOp module, bool modelLevel, const CompileOptions &options,
                                             llvm::StringRef path);

} // namespace smet

#endif // SMET_COMPILER_COMPILER_H
