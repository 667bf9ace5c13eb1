//===- Context.h - calls through the runtime's context ----------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_PROGRAM_CONTEXT_H
#define SMET_LIB_CONVERSION_PROGRAM_CONTEXT_H

#include "runtime/program/Abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace smet {

/// The symbol of a kernel module's function. Not the module's own name, which is a symbol beside it.
inline std::string kernelSymbol(mlir::ModuleOp kernel) { return kernel.getSymName()->str() + ".main"; }

/// The pointer at a slot of the context.
inline mlir::Value loadSlot(mlir::OpBuilder &b, mlir::Location loc, mlir::Value context, smet_slot slot) {
  auto pointer = mlir::LLVM::LLVMPointerType::get(b.getContext());
  mlir::Value address = mlir::LLVM::GEPOp::create(b, loc, pointer, pointer, context,
                                                  llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(slot)});
  return mlir::LLVM::LoadOp::create(b, loc, pointer, address);
}

/// Loads the function pointer at a slot of the context and calls it.
inline mlir::LLVM::CallOp callThroughContext(mlir::OpBuilder &b, mlir::Location loc, mlir::Value context,
                                             smet_slot slot, mlir::Type result, mlir::ValueRange arguments) {
  auto type = mlir::LLVM::LLVMFunctionType::get(result, llvm::to_vector(arguments.getTypes()));
  llvm::SmallVector<mlir::Value> operands{loadSlot(b, loc, context, slot)};
  llvm::append_range(operands, arguments);
  return mlir::LLVM::CallOp::create(b, loc, type, operands);
}

} // namespace smet

#endif // SMET_LIB_CONVERSION_PROGRAM_CONTEXT_H
