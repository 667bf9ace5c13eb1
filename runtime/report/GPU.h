//===- GPU.h - what is known of NVIDIA's GPUs -------------------*- C++ -*-===//
//
// Figures that times are modelled with: of the SXM cards, at boost clock, dense.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_REPORT_GPU_H
#define SMET_RUNTIME_REPORT_GPU_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smet::rt {

/// A card. Rates are per second, of the whole card; limits are of one multiprocessor.
struct GPU {
  std::string_view name, chip; ///< "h200", and what kernels for it are compiled for at best: "sm_90a"
  int64_t multiprocessors;
  double clock;           ///< Hz
  double memoryBandwidth; ///< bytes from DRAM
  double cacheBandwidth;  ///< bytes from the L2 cache to the multiprocessors
  double f32;             ///< operations without tensor cores
  double bf16;            ///< operations of the tensor cores, sums in f32
  int64_t sharedBytes;    ///< of shared memory
  int64_t registers, threads, blocks;

  /// 32 banks of 4 bytes a clock.
  double sharedBandwidth() const { return double(multiprocessors) * 128 * clock; }
};

/// The card of this name; none, then knownGPUs() says which there are.
std::optional<GPU> findGPU(std::string_view name);
std::string knownGPUs();
/// The card to think of where kernels are for `chip`.
GPU gpuForChip(std::string_view chip);

} // namespace smet::rt

#endif // SMET_RUNTIME_REPORT_GPU_H
