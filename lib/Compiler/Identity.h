//===- Identity.h - what a program depends on besides its module -*- C++ -*-===//
#ifndef SMET_LIB_COMPILER_IDENTITY_H
#define SMET_LIB_COMPILER_IDENTITY_H

#include "smet/Compiler/Compiler.h"

#include "llvm/Target/TargetMachine.h"

namespace smet {

/// Target, processor, and this build of the compiler: part of the keys of the caches.
std::string compilerIdentity(const CompileOptions &options, const llvm::TargetMachine &machine);

} // namespace smet

#endif // SMET_LIB_COMPILER_IDENTITY_H
