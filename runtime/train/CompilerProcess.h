//===- CompilerProcess.h - the compiler as a child process ------*- C++ -*-===//
//
// smet never contains the compiler: it runs `smet-compile`, which turns a request (JSON) into a program file in the
// cache, and reports its errors and warnings. A compiler that crashes is a message, and the request and log that show
// why are kept.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_COMPILERPROCESS_H
#define SMET_RUNTIME_TRAIN_COMPILERPROCESS_H

#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

namespace smet::rt {

struct CompilerProcess {
  std::filesystem::path compiler; ///< the smet-compile program
  std::filesystem::path cache;    ///< folder of compiled programs
  std::filesystem::path dumpIr;   ///< folder for the IR after each stage; empty: none
  std::FILE *progress = nullptr;  ///< where "compiling ..." goes when it takes long; may be null

  /// Compiles, or finds in the cache; the path of the program file. A damaged file of the cache is compiled anew.
  Expected<std::filesystem::path> compile(const nlohmann::json &request) const;

  /// What the assembler of GPU kernels that it uses says of its version; "none" where there is none. An error: the
  /// compiler cannot be started.
  Expected<std::string> ptxasVersion() const;

private:
  Expected<std::filesystem::path> runOnce(const nlohmann::json &request) const;
};

/// $SMET_COMPILE, or smet-compile in the folder of this executable.
std::filesystem::path findCompiler();

/// `chosen` when not empty, else $XDG_CACHE_HOME/smet, else ~/.cache/smet.
std::filesystem::path cacheFolder(const std::filesystem::path &chosen);

/// The compiler that all tools share, programs in "programs" of cacheFolder(cache), progress on stderr.
CompilerProcess compilerFor(const std::filesystem::path &cache);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_COMPILERPROCESS_H
