//===- GemmOwn.cpp - our own blocked GEMM ---------------------------------===//
//
// The kernel of GemmKernel.inc for the instruction sets that exist, chosen at run time.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Gemm.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace smet::rt {
namespace {

/// A block of B: 512 KiB, half of a common second-level cache.
constexpr int64_t blockDepth = 256, blockWidth = 512;
constexpr int64_t mostTileRows = 16;

struct Scratch {
  alignas(64) float panelsB[blockDepth * blockWidth];
  alignas(64) float panelA[blockDepth * mostTileRows];
};

/// One a thread, kept: products are called from inside loops.
Scratch &threadScratch() {
  thread_local std::unique_ptr<Scratch> scratch(new Scratch);
  return *scratch;
}

#define SMET_LANES 4
#define SMET_ROWS 4
namespace generic {
#include "runtime/cpu/GemmKernel.inc"
} // namespace generic
#undef SMET_LANES
#undef SMET_ROWS

#if defined(__x86_64__)
#define SMET_LANES 8
#define SMET_ROWS 6
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
namespace avx2 {
#include "runtime/cpu/GemmKernel.inc"
} // namespace avx2
#pragma clang attribute pop
#undef SMET_LANES
#undef SMET_ROWS

#define SMET_LANES 16
#define SMET_ROWS 12
#pragma clang attribute push(__attribute__((target("avx512f,fma"))), apply_to = function)
namespace avx512 {
#include "runtime/cpu/GemmKernel.inc"
} // namespace avx512
#pragma clang attribute pop
#undef SMET_LANES
#undef SMET_ROWS
#endif

} // namespace

OwnGemmVariants ownGemmVariants() {
  OwnGemmVariants variants = {generic::sgemm, nullptr, nullptr};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    variants.avx2 = avx2::sgemm;
  if (__builtin_cpu_supports("avx512f"))
    variants.avx512 = avx512::sgemm;
#endif
  return variants;
}

GemmProvider ownGemm() {
  OwnGemmVariants variants = ownGemmVariants();
  if (variants.avx512)
    return {"own (AVX-512)", variants.avx512};
  if (variants.avx2)
    return {"own (AVX2)", variants.avx2};
  return {"own (generic)", variants.generic};
}

} // namespace smet::rt
