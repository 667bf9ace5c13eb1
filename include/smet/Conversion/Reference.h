//===- Reference.h - kernels that define the meaning ------------*- C++ -*-===//
#ifndef SMET_CONVERSION_REFERENCE_H
#define SMET_CONVERSION_REFERENCE_H

#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL_CONVERTKERNELSTOREFERENCEPASS
#include "smet/Conversion/Passes.h.inc"

/// On a kernel module: ops on memrefs to scf, memref, arith and math, nothing of sparse_tensor, linalg or tensor left.
void buildReferenceKernelPipeline(mlir::OpPassManager &kernel);

} // namespace smet

#endif // SMET_CONVERSION_REFERENCE_H
