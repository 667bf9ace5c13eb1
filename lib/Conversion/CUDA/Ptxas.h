//===- Ptxas.h - NVIDIA's assembler as a process ----------------*- C++ -*-===//
#ifndef SMET_LIB_CONVERSION_CUDA_PTXAS_H
#define SMET_LIB_CONVERSION_CUDA_PTXAS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace smet {

/// What ptxas says that a thread or block of a kernel takes. Bytes of spills are those of the instructions, not of what
/// they move when they run.
struct KernelResources {
  int64_t registers = 0;
  int64_t sharedBytes = 0; ///< of a block, fixed
  int64_t stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
};

struct Assembled {
  std::string image;                          ///< the cubin, or a fatbin of cubin and PTX
  llvm::StringMap<KernelResources> resources; ///< by entry
};

/// Where ptxas is: $SMET_PTXAS, PATH, or where the build found it. An error says where it was looked for.
llvm::Expected<std::string> findPtxas();

/// Assembles PTX for a chip. An error holds what ptxas says and where the PTX was kept. Thread-safe.
llvm::Expected<Assembled> assemble(llvm::StringRef ptx, llvm::StringRef chip, bool fatbin);

/// What `ptxas -v` writes, by entry.
llvm::StringMap<KernelResources> parseResources(llvm::StringRef log);

} // namespace smet

#endif // SMET_LIB_CONVERSION_CUDA_PTXAS_H
