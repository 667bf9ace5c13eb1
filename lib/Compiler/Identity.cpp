//===- Identity.cpp - what a program depends on besides its module --------===//
#include "Identity.h"

#include "runtime/program/Abi.h"
#include "smet/Conversion/CUDA.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <dlfcn.h>

using namespace llvm;

/// Of the executable or library that holds this compiler, so that another build of it finds nothing of this one.
static std::string buildHash() {
  Dl_info info{};
  auto *here = reinterpret_cast<void *>(&smet::compilerIdentity);
  auto file = MemoryBuffer::getFile(dladdr(here, &info) ? info.dli_fname : "");
  if (!file) // found through PATH, then the name is no path
    file = MemoryBuffer::getFile(sys::fs::getMainExecutable(nullptr, here));
  return file ? utohexstr(xxh3_64bits((*file)->getBuffer())) : "unknown";
}

/// What the images of GPU kernels depend on.
static std::string chipIdentity(const smet::CompileOptions &options) {
  if (options.target != smet::Target::CUDA)
    return "";
  const smet::GPUChip &chip = options.chip;
  return chip.name + " " + chip.features + " " + chip.format + " by " + smet::ptxasVersion() + ", ";
}

std::string smet::compilerIdentity(const CompileOptions &options, const TargetMachine &machine) {
  static const std::string build = buildHash();
  return (Twine("smet ") + SMET_VERSION + ", LLVM " + LLVM_VERSION_STRING + ", abi " + Twine(SMET_ABI_VERSION) + ", " +
          name(options.target) + (options.check ? ", checked, " : ", ") + chipIdentity(options) +
          machine.getTargetCPU() + ", " + machine.getTargetFeatureString() + ", build " + build)
      .str();
}
