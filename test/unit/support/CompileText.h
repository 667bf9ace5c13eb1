//===- CompileText.h - compile a module given as text -----------*- C++ -*-===//
//
// The compiler without its headers: MLIR's are C++20, the runtime's C++23.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_SUPPORT_COMPILETEXT_H
#define SMET_TEST_UNIT_SUPPORT_COMPILETEXT_H

#include <string>

namespace smet::test {

enum class Target { Reference, CPU };

/// Compiles to the program file `path`. `modelLevel`: @forward, else entry points. `cpu`: LLVM's name of a processor;
/// empty: $SMET_TEST_CPU, else this machine's. Returns the errors, empty on success.
std::string compileText(const std::string &module, bool modelLevel, Target target, const std::string &path,
                        const std::string &cpu = "");

/// Compiles a request (smet/Compiler/Request.h) to the program file `path`, for the same processor. Returns the errors, empty on success.
std::string compileModel(const std::string &requestJson, const std::string &path);

} // namespace smet::test

#endif // SMET_TEST_UNIT_SUPPORT_COMPILETEXT_H
