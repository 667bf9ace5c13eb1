//===- Request.h - what to compile, as JSON ---------------------*- C++ -*-===//
#ifndef SMET_COMPILER_REQUEST_H
#define SMET_COMPILER_REQUEST_H

#include "smet/Compiler/Tune.h"
#include "smet/Models/Llama.h"

#include <optional>

namespace smet {

/// The request that `smet` hands to smet-compile:
///
///   {"kind": "train" | "infer", "target": "cpu" | "reference" | "gpu-emulator" | "cuda",
///    "cpu": "host" | LLVM's name of a processor,
///    "model": {a Hugging Face config.json}, "method": "smet" | "static" | "dense", "dtype": "f32" | "bf16",
///    "density": 0.1, "block": [16, 16], "batch": 16, "seq_len": 128, "warmup_updates": 10, "beta1": 0.9,
///    "beta2": 0.999, "eps": 1e-8, "weight_decay": 0, "lr_scaling": true, "tune": false,
///    "check": false, "chip": "sm_90a", "ptx_features": "" | "+ptx80", "image_format": "bin" | "isa" | "fatbin"}
///
/// All but "model" have defaults. Unknown keys and wrong types are errors, each named. Entry points that somebody wrote
/// as IR are compiled by
///
///   {"module": "func.func @main(...) ...", "target": ..., "cpu": ..., "tune": ..., "check": ..., "chip": ...}
struct CompileRequest {
  ModelRequest model;
  std::optional<std::string> module; ///< entry points as text, in place of the model
  Target target = Target::CPU;
  std::string cpu = "host"; ///< CompileOptions::cpu
  bool tune = false;        ///< sparse products are measured
  bool check = false;       ///< CompileOptions::check
  GPUChip chip;             ///< CompileOptions::chip

  static llvm::Expected<CompileRequest> parse(llvm::StringRef json);
};

/// A program file of a cache, and what was compiled; none when the file was there.
struct CachedProgram {
  std::string path;
  std::optional<CompileReport> report;
};

/// Compiles a request to a program file in `cache` (created where missing), named by the hash of the module, the
/// options and the compiler, or finds it there. The objects of kernels are kept in `cache`/kernels. With a dump
/// directory everything is compiled. Measurements of a request to tune, for which there must be a tuner, are kept in
/// `cache`/tuning.
llvm::Expected<CachedProgram> compileCached(const CompileRequest &request, llvm::StringRef cache,
                                            llvm::StringRef dumpDirectory, const Tuner *tuner = nullptr);

/// Compiles a request to the program file `path`. Kernels and measurements are shared with `cache` unless that is
/// empty.
llvm::Expected<CompileReport> compileRequest(const CompileRequest &request, llvm::StringRef path, llvm::StringRef cache,
                                             llvm::StringRef dumpDirectory, const Tuner *tuner = nullptr);

} // namespace smet

#endif // SMET_COMPILER_REQUEST_H
