//===- Emulator.h - GPU kernels on the host ---------------------*- C++ -*-===//
//
// Executes kernels that were compiled for the target gpu-emulator (Abi.h), and says what is wrong with them: accesses
// out of bounds, reads of shared memory that nobody wrote, races, missing waits, threads that wait for others in vain.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_EMULATOR_EMULATOR_H
#define SMET_RUNTIME_EMULATOR_EMULATOR_H

#include "runtime/cpu/ThreadPool.h"
#include "runtime/emulator/Abi.h"
#include "runtime/emulator/Checker.h"
#include "runtime/emulator/Traffic.h"

#include <array>
#include <optional>
#include <span>

namespace smet::rt {

/// A grid of blocks, each of at most 1,024 threads and 228 KiB of shared memory.
struct KernelLaunch {
  const char *name;
  smet_emulated_kernel kernel;
  std::array<uint32_t, 3> grid, block;
  int64_t sharedBytes = 0;
  std::span<void *const> arguments;       ///< as the kernel gets them
  std::span<const KernelBuffer> buffers;  ///< behind them, for checking
  std::span<const char *const> locations; ///< of the kernel's sites in the source
};

struct EmulatorOptions {
  /// Accesses are checked and counted, where the kernel was compiled for that; blocks run one after the other.
  bool check = false;
  /// Of the order of threads and of when copies happen; without it, threads run in order and copies happen at the wait.
  std::optional<uint64_t> seed = std::nullopt;
};

/// Runs a kernel to its end, blocks in parallel. The error names kernel, block, thread and source location; memory is
/// left as it was then. `counters` are added to, with checking only.
Status emulate(ThreadPool &pool, const KernelLaunch &launch, const EmulatorOptions &options,
               KernelCounters *counters = nullptr);

} // namespace smet::rt

#endif // SMET_RUNTIME_EMULATOR_EMULATOR_H
