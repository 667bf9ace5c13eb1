//===- Reference.h - kernels that define the meaning ------------*- C++ -*-===//
#ifndef SMET_CONVERSION_REFERENCE_H
#define SMET_CONVERSION_REFERENCE_H

#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL_CONVERTKERNELSTOREFERENCEPASS
#include "smet/Conversion/Passes.h.inc"

} // namespace smet

#endif // SMET_CONVERSION_REFERENCE_H
