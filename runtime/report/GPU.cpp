//===- GPU.cpp - what is known of NVIDIA's GPUs ---------------------------===//
//
// Sources: "NVIDIA A100 Tensor Core GPU Architecture" (2020) and the A100 80GB datasheet (multiprocessors, clock,
// 2,039 GB/s, 19.5 and 312 TFLOP/s, 5,120 bytes a clock from L2); "NVIDIA H100 Tensor Core GPU Architecture" (2022) and
// the H100 and H200 datasheets (132 multiprocessors, 3.35 and 4.8 TB/s, 66.9 and 989 TFLOP/s; 1.83 GHz is the clock
// that gives the latter). Limits of a multiprocessor: CUDA C++ Programming Guide, compute capabilities 8.0 and 9.0. For
// Hopper's L2 no figure is published: taken is A100's width at its clock.
//
//===----------------------------------------------------------------------===//

#include "runtime/report/GPU.h"

namespace smet::rt {

static constexpr double kCacheBytesAClock = 5120;

static constexpr GPU kGPUs[] = {
    {"a100", "sm_80", 108, 1.41e9, 2.039e12, kCacheBytesAClock * 1.41e9, 19.5e12, 312e12, 164 << 10, 65536, 2048, 32},
    {"h100", "sm_90a", 132, 1.83e9, 3.35e12, kCacheBytesAClock * 1.83e9, 66.9e12, 989e12, 228 << 10, 65536, 2048, 32},
    {"h200", "sm_90a", 132, 1.83e9, 4.8e12, kCacheBytesAClock * 1.83e9, 66.9e12, 989e12, 228 << 10, 65536, 2048, 32}};

std::optional<GPU> findGPU(std::string_view name) {
  for (const GPU &gpu : kGPUs)
    if (gpu.name == name)
      return gpu;
  return std::nullopt;
}

std::string knownGPUs() {
  std::string names;
  for (const GPU &gpu : kGPUs)
    names.append(names.empty() ? "" : ", ").append(gpu.name);
  return names;
}

GPU gpuForChip(std::string_view chip) {
  for (const GPU &gpu : kGPUs)
    if (gpu.chip == chip)
      return gpu;
  return kGPUs[0];
}

} // namespace smet::rt
