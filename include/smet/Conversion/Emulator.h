//===- Emulator.h - GPU kernels to the host -----------------------*- C++ -*-===//
#ifndef SMET_CONVERSION_EMULATOR_H
#define SMET_CONVERSION_EMULATOR_H

#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL_CONVERTGPUTOEMULATORPASS
#include "smet/Conversion/Passes.h.inc"

} // namespace smet

#endif // SMET_CONVERSION_EMULATOR_H
