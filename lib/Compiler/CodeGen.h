//===- CodeGen.h - LLVM dialect -> object files -----------------*- C++ -*-===//
#ifndef SMET_LIB_COMPILER_CODEGEN_H
#define SMET_LIB_COMPILER_CODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace smet {

/// The machine that code is generated for. Empty names mean this machine.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(llvm::StringRef cpu, llvm::StringRef features);

/// The name and features that empty strings stand for.
std::pair<std::string, std::string> hostProcessor();

/// Translates a module of the LLVM dialect, optimizes it and returns the bytes of its object file. Thread-safe.
llvm::Expected<std::string> emitObject(mlir::ModuleOp module, llvm::TargetMachine &machine);

} // namespace smet

#endif // SMET_LIB_COMPILER_CODEGEN_H
