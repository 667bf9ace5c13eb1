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
inline mlir::Type kernelDescriptionType(mlir::MLIRContext *context) {
  mlir::Type pointer = mlir::LLVM::LLVMPointerType::get(context), i64 = mlir::IntegerType::get(context, 64);
  return mlir::LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i64, i64, pointer});
}

} // namespace smet

#endif // SMET_CONVERSION_KERNELDESCRIPTION_H
