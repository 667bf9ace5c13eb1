//===- EmulatedDevice.h - a program's GPU kernels on the host ---*- C++ -*-===//
//
// The device of programs compiled for the target gpu-emulator: its memory is the host's.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_EMULATOR_EMULATEDDEVICE_H
#define SMET_RUNTIME_EMULATOR_EMULATEDDEVICE_H

#include "runtime/cpu/Context.h"
#include "runtime/emulator/Emulator.h"

#include <map>
#include <string>

namespace smet::rt {

class EmulatedDevice : public Device {
public:
  /// For launches from now on.
  EmulatorOptions options;

  Status launch(const smet_kernel &kernel, const smet_launch &launch, ThreadPool &pool) override;

  /// Of each kernel so far, by name; filled while options.check.
  const std::map<std::string, KernelCounters> &counters() const { return theCounters; }

private:
  std::map<std::string, KernelCounters> theCounters;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_EMULATOR_EMULATEDDEVICE_H
