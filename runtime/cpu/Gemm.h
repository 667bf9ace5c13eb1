//===- Gemm.h - dense f32 matrix products on the CPU ------------*- C++ -*-===//
//
// The provider interface for dense GEMM. oneDNN is opened at run time; where it is missing, our own blocked kernel
// takes its place. Both run on the calling thread: parallelism is the thread pool's.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CPU_GEMM_H
#define SMET_RUNTIME_CPU_GEMM_H

#include "runtime/program/Abi.h"
#include "runtime/support/Error.h"

#include <string>

namespace smet::rt {

/// The type of smet_context::sgemm, documented there.
using Sgemm = decltype(smet_context::sgemm);

struct GemmProvider {
  std::string name; ///< for logs, with the instruction set of our own kernel
  Sgemm sgemm;
};

/// Our own kernel, for the widest instruction set of this processor.
GemmProvider ownGemm();
/// oneDNN's dnnl_sgemm, or why it cannot be used.
Expected<GemmProvider> oneDnnGemm();
/// What SMET_GEMM asks for (`own` or `onednn`); without it, oneDNN where it can be opened, else our own.
Expected<GemmProvider> selectGemm();

/// The variants of our own kernel. Those that the processor cannot run are null.
struct OwnGemmVariants {
  Sgemm generic, avx2, avx512;
};
OwnGemmVariants ownGemmVariants();

/// Where there is no product to compute (a size is zero): C = beta C, and true. oneDNN would leave C alone.
bool scaleIfEmpty(int64_t m, int64_t n, int64_t k, float beta, float *c, int64_t ldc);

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_GEMM_H
