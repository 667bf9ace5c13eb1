//===- KernelModules.h - modules of outlined kernels ------------*- C++ -*-===//
#ifndef SMET_LIB_TRANSFORMS_KERNELMODULES_H
#define SMET_LIB_TRANSFORMS_KERNELMODULES_H

#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace smet {

/// `func.func @main` that returns what it computes, without a body yet.
mlir::OwningOpRef<mlir::func::FuncOp> createKernel(mlir::Location loc, mlir::TypeRange arguments,
                                                   mlir::TypeRange results);

/// The kernel modules that a pass makes: kernels of equal text, which has no locations, become one.
class KernelModules {
public:
  explicit KernelModules(mlir::ModuleOp program) : table(program) {}

  /// The kernel's symbol. `computes` names what it does and becomes part of its name.
  mlir::SymbolRefAttr add(mlir::OwningOpRef<mlir::func::FuncOp> kernel, llvm::StringRef computes);

private:
  mlir::SymbolTable table;
  llvm::StringMap<mlir::SymbolRefAttr> kernels;
};

} // namespace smet

#endif // SMET_LIB_TRANSFORMS_KERNELMODULES_H
