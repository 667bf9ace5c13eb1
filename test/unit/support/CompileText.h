//===- CompileText.h - compile a module given as text -----------*- C++ -*-===//
//
// The compiler without its headers: MLIR's are C++20, the runtime's C++23.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_SUPPORT_COMPILETEXT_H
#define SMET_TEST_UNIT_SUPPORT_COMPILETEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace smet::test {

/// GPUChecked: for the emulator, with what its checks need.
enum class Target { Reference, CPU, GPU, GPUChecked };

/// Compiles to the program file `path`. `modelLevel`: @forward, else entry points. `cpu`: LLVM's name of a processor;
/// empty: $SMET_TEST_CPU, else this machine's. Returns the errors, empty on success.
std::string compileText(const std::string &module, bool modelLevel, Target target, const std::string &path,
                        const std::string &cpu = "");

/// Compiles a request (smet/Compiler/Request.h) to the program file `path`, for the same processor. `cache`: the folder
/// that keeps kernels, if any. Returns the errors, empty on success.
std::string compileModel(const std::string &requestJson, const std::string &path, const std::string &cache = "");

/// The choices that a tuner would try for the sparse product of a module of entry points with vectors of so many bits,
/// as text of smet.choice.
std::vector<std::string> choicesOf(const std::string &module, int64_t vectorBits, int64_t numRegisters);

} // namespace smet::test

#endif // SMET_TEST_UNIT_SUPPORT_COMPILETEXT_H
