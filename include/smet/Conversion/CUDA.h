//===- CUDA.h - GPU kernels to images for NVIDIA's GPUs ---------*- C++ -*-===//
#ifndef SMET_CONVERSION_CUDA_H
#define SMET_CONVERSION_CUDA_H

#include "mlir/Pass/Pass.h"

namespace smet {

#define GEN_PASS_DECL_CONVERTGPUTOCUDAPASS
#include "smet/Conversion/Passes.h.inc"

/// What the ptxas in use says of its version; "none" where there is none. Part of what images depend on.
std::string ptxasVersion();

/// Where the reports of kernels lie in a program file: texts in JSON, each followed by a zero byte
/// (runtime/report/KernelReport.h has the fields).
inline constexpr llvm::StringLiteral kernelReportSection = ".smet.report";

} // namespace smet

#endif // SMET_CONVERSION_CUDA_H
