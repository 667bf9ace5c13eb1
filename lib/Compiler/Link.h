//===- Link.h - object files -> program file --------------------*- C++ -*-===//
#ifndef SMET_LIB_COMPILER_LINK_H
#define SMET_LIB_COMPILER_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace smet {

/// Links objects (bytes of ELF files) into a shared object by lld, adds the trailer and renames the result to `name`,
/// or to where that link leads.
llvm::Error linkProgram(llvm::ArrayRef<std::string> objects, llvm::StringRef name);

} // namespace smet

#endif // SMET_LIB_COMPILER_LINK_H
