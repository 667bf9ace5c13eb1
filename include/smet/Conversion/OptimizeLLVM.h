//===- OptimizeLLVM.h - LLVM's passes over what kernels become --*- C++ -*-===//
#ifndef SMET_CONVERSION_OPTIMIZELLVM_H
#define SMET_CONVERSION_OPTIMIZELLVM_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace smet {

/// -O2 for the machine, without vectorization: kernels are vectors already.
void optimizeLLVM(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace smet

#endif // SMET_CONVERSION_OPTIMIZELLVM_H
