//===- EmulatedKernel.h - one kernel on its way to the host -----*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_EMULATOR_EMULATEDKERNEL_H
#define SMET_LIB_CONVERSION_EMULATOR_EMULATEDKERNEL_H

#include "runtime/emulator/Abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"

namespace smet {

/// A kernel as a function (emulator, arguments), and what its ops become: calls through the emulator's functions.
class EmulatedKernel {
public:
  /// `kernel` has been moved to the host's module; `sharedOffsets`: where each global of shared memory lies.
  EmulatedKernel(mlir::LLVM::LLVMFuncOp kernel, const llvm::StringMap<int64_t> &sharedOffsets);

  /// Ops of the nvvm dialect and addresses of shared memory become calls and loads. An error names the op that the
  /// emulator does not have.
  mlir::LogicalResult lowerInstructions();
  /// Every load and store is announced, floating-point operations are counted.
  mlir::LogicalResult instrument();

  /// The source locations that the kernel's sites stand for.
  llvm::ArrayRef<std::string> locations() const { return sites; }

private:
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::Value special(mlir::Location loc, int32_t index);
  mlir::Value lane(mlir::Location loc);
  mlir::Value site(mlir::Location loc);
  mlir::Value constant(mlir::Location loc, int64_t value, mlir::Type type);
  mlir::Value call(mlir::Location loc, smet_emulator_slot slot, mlir::Type result, mlir::ValueRange arguments);
  /// An array on the kernel's stack, and values there and back.
  mlir::Value stackArray(mlir::Location loc, mlir::Type element, int64_t count);
  mlir::Value stackArray(mlir::Location loc, mlir::ValueRange values);
  mlir::Value packFrom(mlir::Location loc, mlir::Type type, mlir::Value array);
  mlir::Value generic(mlir::Location loc, mlir::Value pointer);

  mlir::LogicalResult announce(mlir::Operation *op, mlir::Value address, mlir::Type type, smet_access_kind kind);
  int32_t argumentOf(mlir::Value address) const;
  void countOperations(mlir::Block &block);

  mlir::LLVM::LLVMFuncOp kernel;
  const llvm::StringMap<int64_t> &sharedOffsets;
  mlir::OpBuilder b;
  mlir::Type pointer;
  llvm::SmallVector<mlir::Operation *> accesses; ///< loads, stores and whatever else touches memory
  llvm::SmallVector<mlir::Value> arguments;      ///< of the GPU's kernel, as loaded at the top
  llvm::SmallVector<std::string> sites;
  llvm::StringMap<int32_t> siteNumbers;
};

} // namespace smet

#endif // SMET_LIB_CONVERSION_EMULATOR_EMULATEDKERNEL_H
