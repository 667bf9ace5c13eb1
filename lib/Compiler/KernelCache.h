//===- KernelCache.h - objects of kernels, kept on disk ---------*- C++ -*-===//
//
// A kernel's object is kept under the hash of its text, as the target pipeline left it (loops on memrefs, scratch as
// arguments), and of the compiler. Only cheap passes come before; the way to LLVM and code generation is what a hit
// saves. Nothing of a program is in that text, so programs share kernels.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_COMPILER_KERNELCACHE_H
#define SMET_LIB_COMPILER_KERNELCACHE_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace smet {

class KernelCache {
public:
  /// Of the compiler that `identity` describes, in `folder` (made when needed).
  KernelCache(llvm::StringRef folder, std::string identity) : folder(folder), identity(std::move(identity)) {}

  /// Names the object of a kernel module.
  std::string key(mlir::ModuleOp kernel) const;

  /// The object; none when it is not there or damaged.
  std::optional<std::string> find(llvm::StringRef key) const;

  /// Keeps an object. One that cannot be written is compiled again next time. Other processes may do the same.
  void store(llvm::StringRef key, llvm::StringRef object) const;

private:
  std::string path(llvm::StringRef key) const;

  std::string folder, identity;
};

} // namespace smet

#endif // SMET_LIB_COMPILER_KERNELCACHE_H
