//===- CodeGen.h - LLVM dialect -> object files -----------------*- C++ -*-===//
#ifndef SMET_LIB_COMPILER_CODEGEN_H
#define SMET_LIB_COMPILER_CODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>
#include <vector>

namespace smet {

/// The machine that code is generated for; `cpu` as LLVM names it, or "host". An unknown name is an error that says
/// which are known.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(llvm::StringRef cpu);

/// The vector registers that kernels are written for.
struct VectorUnit {
  int64_t bits, numRegisters;
};
VectorUnit vectorUnit(const llvm::TargetMachine &machine);

/// What of the instruction sets that the runtime can look for (runtime/program/InstructionSets.h) generated code may
/// use.
std::vector<std::string> instructionSets(const llvm::TargetMachine &machine);

/// Translates a module of the LLVM dialect, optimizes it and returns the bytes of its object file. Thread-safe.
llvm::Expected<std::string> emitObject(mlir::ModuleOp module, llvm::TargetMachine &machine);

} // namespace smet

#endif // SMET_LIB_COMPILER_CODEGEN_H
