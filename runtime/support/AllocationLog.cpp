//===- AllocationLog.cpp --------------------------------------------------===//

#include "runtime/support/AllocationLog.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace smet::rt {
namespace {

struct Log {
  std::mutex mutex;
  std::map<std::string, Allocation, std::less<>> entries;
};

Log &theLog() {
  static Log log;
  return log;
}

} // namespace

void recordAllocation(std::string_view name, int64_t bytes) {
  Log &log = theLog();
  std::lock_guard lock(log.mutex);
  auto it = log.entries.find(name);
  if (it == log.entries.end())
    it = log.entries.emplace(std::string(name), Allocation{std::string(name)}).first;
  it->second.bytes = std::max(it->second.bytes, bytes);
  ++it->second.count;
}

std::vector<Allocation> allocationLog() {
  Log &log = theLog();
  std::lock_guard lock(log.mutex);
  std::vector<Allocation> all;
  for (const auto &[name, allocation] : log.entries)
    all.push_back(allocation);
  return all;
}

} // namespace smet::rt
