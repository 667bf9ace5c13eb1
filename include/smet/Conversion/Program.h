//===- Program.h - dispatches, loops and memory to a program ----*- C++ -*-===//
#ifndef SMET_CONVERSION_PROGRAM_H
#define SMET_CONVERSION_PROGRAM_H

#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL_HOISTWORKSPACEPASS
#define GEN_PASS_DECL_PLANMEMORYPASS
#define GEN_PASS_DECL_LOWERENTRYPOINTSPASS
#define GEN_PASS_DECL_LOWERKERNELPASS
#define GEN_PASS_DECL_EXPANDMATHPASS
#include "smet/Conversion/Passes.h.inc"

} // namespace smet

#endif // SMET_CONVERSION_PROGRAM_H
