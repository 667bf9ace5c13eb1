//===- CompileGPUText.h - GPU kernels given as text, for the emulator -*- C++ -*-===//
//
// The compiler without its headers: MLIR's are C++20, the runtime's C++23.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_SUPPORT_COMPILEGPUTEXT_H
#define SMET_TEST_UNIT_SUPPORT_COMPILEGPUTEXT_H

#include <string>

namespace smet::test {

/// Compiles the gpu.modules of a module, with the gpu dialect on memrefs, to a shared object at `path`: a smet_kernel
/// `module.kernel.kernel` for each. `check`: for the checking emulator. Returns the errors, empty on success.
std::string compileGPUText(const std::string &text, bool check, const std::string &path);
/// The gpu.module, as text, of a kernel module @m on memrefs: its launch number i is `@launch<i>` of `@m.device`. Empty
/// where there is none.
std::string gpuModuleOf(const std::string &text);

} // namespace smet::test

#endif // SMET_TEST_UNIT_SUPPORT_COMPILEGPUTEXT_H
