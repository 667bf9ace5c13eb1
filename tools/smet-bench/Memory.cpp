//===- Memory.cpp - the memory of this process ----------------------------===//
#include "Memory.h"

#include "runtime/train/Progress.h"

#include <cstdlib>
#include <fstream>
#include <string>

namespace smet::bench {

// 5 is what resets VmHWM (proc_pid_clear_refs(5)).
PeakMemory::PeakMemory() : isReset(bool(std::ofstream("/proc/self/clear_refs") << 5 << std::flush)) {}

double PeakMemory::bytes() const {
  std::ifstream file("/proc/self/status");
  for (std::string line; isReset && std::getline(file, line);)
    if (line.starts_with("VmHWM:"))
      return std::strtod(line.c_str() + line.find(':') + 1, nullptr) * 1024;
  return double(rt::residentBytes());
}

} // namespace smet::bench
