//===- CudaDevice.h - a program on an NVIDIA GPU ----------------*- C++ -*-===//
//
// The device of programs compiled for the target cuda. The arena is the card's memory, and the Arena of the instance
// only its image on the host, by the same offsets: an entry point's inputs are copied there before it runs and its
// outputs back when it has ended, both through pinned memory; every other tensor only by toHost and toDevice
// (checkpoints, topology statistics, the routines of init). One stream carries copies and kernels in the order in which
// they are asked for, so that the host waits only at reads, routines and the end. Launches are replayed as graphs
// (LaunchQueue.h).
//
// Kernels report their failures when they are waited for, and no call works afterwards: the process has to end. With
// SMET_CUDA_SYNC=1 every launch is waited for, so that the message names the kernel.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CUDA_CUDADEVICE_H
#define SMET_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/cpu/Context.h"
#include "runtime/cuda/LaunchQueue.h"
#include "runtime/cuda/Modules.h"
#include "runtime/program/Manifest.h"

#include <memory>
#include <optional>

namespace smet::rt::cuda {

class CudaDevice : public Device {
public:
  /// Takes the first card, and memory for the arena on it, zeroed. `manifest` and `host`, the arena's image, must
  /// outlive this. Errors: no driver, or one that is too old; no card, or one that is too small.
  static Expected<std::unique_ptr<CudaDevice>> create(const Manifest &manifest, char *host);
  ~CudaDevice() override;

  Status launch(const smet_kernel &kernel, const smet_launch &launch, ThreadPool &pool) override;
  char *arena(char *host) override { return reinterpret_cast<char *>(memory); }
  Status begin(std::string_view entry, bool traced) override;
  Status end() override;
  Status finish() override;
  Status read(void *host, const void *array, int64_t bytes) override;
  Status toHost(std::span<const int64_t> offsets) override;
  Status toDevice(std::span<const int64_t> offsets) override;

private:
  /// Bytes of the arena that are copied at once, and where they lie in the pinned memory.
  struct Part {
    int64_t offset, bytes, pinned;
  };

  CudaDevice(const Manifest &manifest, char *host, Driver driver, Card card);
  Status open();
  Status enter() const;
  Status settle(); ///< entered, and nothing under way
  Status call(Result result, std::string_view what) const;
  Expected<QueuedLaunch> queued(const smet_kernel &kernel, const smet_launch &launch);
  /// The parts of the arena that tensors of this role take; neighbours are one.
  std::vector<Part> partsOf(Role role, int64_t &pinned) const;
  int64_t bytesAt(int64_t offset) const;

  const Manifest &manifest;
  char *host;
  Driver driver;
  Card card;
  bool waitForEach; ///< SMET_CUDA_SYNC
  PrimaryContext context = nullptr;
  Address memory = 0;
  char *pinned = nullptr; ///< on its way: inputs when an entry point begins, then what is read, then outputs
  int64_t pinnedBytes = 0;
  std::vector<Part> inputs, outputs;
  Stream stream = nullptr;
  std::optional<Modules> modules;
  std::optional<LaunchQueue> queue;
};

} // namespace smet::rt::cuda

#endif // SMET_RUNTIME_CUDA_CUDADEVICE_H
