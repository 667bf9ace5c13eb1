//===- AllocationLog.h - large buffers, by name ------------------*- C++ -*-===//
//
// Every buffer of the runtime whose size grows with the model or the data is recorded here, so that a test can check
// that none has the size of a dense weight.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_SUPPORT_ALLOCATIONLOG_H
#define SMET_RUNTIME_SUPPORT_ALLOCATIONLOG_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smet::rt {

/// All allocations of one name: how often, and the largest.
struct Allocation {
  std::string name;
  int64_t bytes = 0;
  int64_t count = 0;
};

/// Adds an allocation of this process. Safe from any thread.
void recordAllocation(std::string_view name, int64_t bytes);

/// What was recorded so far, by name.
std::vector<Allocation> allocationLog();

/// An uninitialized, recorded scratch array.
template <typename T> class Scratch {
public:
  Scratch(std::string_view name, int64_t size) : data(new T[size]), size(size) {
    recordAllocation(name, size * int64_t(sizeof(T)));
  }
  std::span<T> span() { return {data.get(), size_t(size)}; }
  T &operator[](int64_t i) { return data[i]; }

private:
  std::unique_ptr<T[]> data;
  int64_t size;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_ALLOCATIONLOG_H
