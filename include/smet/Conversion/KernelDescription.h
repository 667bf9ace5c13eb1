//===- KernelDescription.h - what a program knows of a GPU kernel -*- C++ -*-===//
//
// smet-lower-kernel declares the constant smet_kernel (runtime/program/Abi.h) of a kernel that it launches; what
// compiles the kernel's gpu.module defines it.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_CONVERSION_KERNELDESCRIPTION_H
#define SMET_CONVERSION_KERNELDESCRIPTION_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace smet {

/// Its symbol.
inline std::string kernelDescription(llvm::StringRef module, llvm::StringRef kernel) {
  return (module + "." + kernel + ".kernel").str();
}
mlir::Type kernelDescriptionType(mlir::MLIRContext *context);

/// The fields that differ between targets.
struct KernelDescription {
  std::string name;                ///< unique in the program; the pieces' symbols begin with it
  mlir::LLVM::LLVMFuncOp emulated; ///< null on a GPU
  int64_t sharedBytes = 0;
  llvm::ArrayRef<std::string> sites;
  std::string entry;          ///< in the image; empty on the emulator
  mlir::LLVM::GlobalOp image; ///< null on the emulator
};

/// Defines the constant `symbol`, in place of its declaration, at the builder's place in a module.
void defineKernel(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef symbol, const KernelDescription &kernel);

/// A constant of the module.
mlir::LLVM::GlobalOp defineBytes(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef symbol, llvm::StringRef bytes);

} // namespace smet

#endif // SMET_CONVERSION_KERNELDESCRIPTION_H
