//===- Tune.h - kernels chosen by measuring ---------------------*- C++ -*-===//
//
// Each distinct sparse product of a program is compiled in all the ways that may be the fastest (the candidates beside
// the cost model), these are run in turn, and where one beats the model's by a clear margin, the ops say so
// (smet.choice). The compiler runs no programs: its caller does.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_COMPILER_TUNE_H
#define SMET_COMPILER_TUNE_H

#include "smet/Compiler/Compiler.h"
#include "smet/Compiler/TuningProgram.h"

#include <functional>

namespace smet {

struct TuningReport {
  int64_t products = 0; ///< distinct ones
  int64_t measured = 0; ///< of these; the others were measured before
  int64_t changed = 0;  ///< where the model's choice was not kept
};

/// What the compiler asks of those who have it tune.
struct Tuner {
  std::function<llvm::Expected<TuningSeconds>(const TuningProgram &)> measure;
  /// Before each measurement: how many are done and how many there will be.
  std::function<void(int64_t done, int64_t total)> progress;
  std::function<void(const TuningReport &)> finished;
};

/// Gives the sparse products of a module of entry points on tensors the choice that is measured to be the fastest; ops
/// that have one keep it. `folder` keeps the measurements, a file a product, under the hash of what was measured, by
/// which compiler and on which processor (made when needed; empty: none are kept). A file that is damaged is a warning,
/// and measured again.
llvm::Error tuneSparseProducts(mlir::ModuleOp module, const CompileOptions &options, const Tuner &tuner,
                               llvm::StringRef folder);

} // namespace smet

#endif // SMET_COMPILER_TUNE_H
