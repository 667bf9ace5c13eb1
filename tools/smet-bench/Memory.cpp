//===- Memory.cpp - the memory of this process ----------------------------===//
#include "Memory.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>

namespace smet::bench {

double residentBytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * double(sysconf(_SC_PAGESIZE));
}

// 5 is what resets VmHWM (proc_pid_clear_refs(5)).
PeakMemory::PeakMemory() : isReset(bool(std::ofstream("/proc/self/clear_refs") << 5 << std::flush)) {}

double PeakMemory::bytes() const {
  std::ifstream file("/proc/self/status");
  for (std::string line; isReset && std::getline(file, line);)
    if (line.starts_with("VmHWM:"))
      return std::strtod(line.c_str() + line.find(':') + 1, nullptr) * 1024;
  return residentBytes();
}

} // namespace smet::bench
