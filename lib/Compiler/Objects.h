//===- Objects.h - the object files of a program ----------------*- C++ -*-===//
//
// A program has one object of its entry points and one of each kernel. They are made on all cores; kernels whose
// objects the cache has are left out of the module before it is lowered to LLVM.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_COMPILER_OBJECTS_H
#define SMET_LIB_COMPILER_OBJECTS_H

#include "KernelCache.h"
#include "smet/Compiler/Compiler.h"

#include "llvm/Target/TargetMachine.h"

namespace smet {

class Objects {
public:
  /// `identity`: of the compiler, for the cache's keys.
  Objects(mlir::ModuleOp module, const CompileOptions &options, std::string identity);

  /// Looks the kernels up, once their text is final. When the IR is dumped, all are compiled.
  void findKernels();

  /// Leaves those kernels that must be compiled; for when the entry points need no declarations any more.
  void eraseFound();

  /// Compiles what is left, in the LLVM dialect, and returns all objects, in the same order whatever was found.
  llvm::Expected<std::vector<std::string>> emit();

  CompileReport report() const;

private:
  struct Kernel {
    mlir::ModuleOp module;
    std::string key;
    std::optional<std::string> found;
  };

  llvm::Expected<std::string> emit(Kernel &kernel, llvm::TargetMachine &machine);

  mlir::ModuleOp module;
  const CompileOptions &options;
  std::optional<KernelCache> cache;
  std::vector<Kernel> kernels;
};

} // namespace smet

#endif // SMET_LIB_COMPILER_OBJECTS_H
