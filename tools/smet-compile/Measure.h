//===- Measure.h - runs what the tuner has compiled -------------*- C++ -*-===//
//
// Without headers of LLVM and of the runtime: MLIR's are C++20, the runtime's C++23.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TOOLS_COMPILE_MEASURE_H
#define SMET_TOOLS_COMPILE_MEASURE_H

#include "smet/Compiler/TuningProgram.h"

namespace smet {

/// Times the entry points in turn on one thread, on a random topology. Returns the error, empty on success.
std::string measure(const TuningProgram &program, TuningSeconds &seconds);

} // namespace smet

#endif // SMET_TOOLS_COMPILE_MEASURE_H
