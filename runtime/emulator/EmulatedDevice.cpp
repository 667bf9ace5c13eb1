//===- EmulatedDevice.cpp - a program's GPU kernels on the host -----------===//
#include "runtime/emulator/EmulatedDevice.h"

#include "runtime/program/Abi.h"

#include <algorithm>

namespace smet::rt {

/// Sizes as the hardware takes them.
static Expected<std::array<uint32_t, 3>> sizesOf(const smet_kernel &kernel, const int64_t (&sizes)[3]) {
  std::array<uint32_t, 3> result;
  for (int i = 0; i < 3; ++i) {
    if (sizes[i] < 0 || sizes[i] > INT32_MAX)
      return fail("kernel '{}': a launch of {} x {} x {}", kernel.name, sizes[0], sizes[1], sizes[2]);
    result[i] = uint32_t(sizes[i]);
  }
  return result;
}

Status EmulatedDevice::launch(const smet_kernel &kernel, const smet_launch &launch, ThreadPool &pool) {
  if (!kernel.emulated)
    return fail("kernel '{}' was not compiled for the emulator", kernel.name);
  auto grid = sizesOf(kernel, launch.grid), block = sizesOf(kernel, launch.block);
  if (!grid || !block)
    return std::unexpected((grid ? block : grid).error());
  std::vector<KernelBuffer> buffers;
  for (int64_t i = 0; i < launch.num_arguments; ++i)
    buffers.push_back(launch.bytes[i] > 0 ? KernelBuffer{*static_cast<void **>(launch.arguments[i]), launch.bytes[i]}
                                      : KernelBuffer{nullptr, 0});
  KernelLaunch emulated{kernel.name,
                        kernel.emulated,
                        *grid,
                        *block,
                        kernel.shared_bytes + launch.shared_bytes,
                        {launch.arguments, size_t(launch.num_arguments)},
                        buffers,
                        {kernel.sites, size_t(kernel.num_sites)}};
  return emulate(pool, emulated, options, options.check ? &theCounters[kernel.name] : nullptr);
}

} // namespace smet::rt
