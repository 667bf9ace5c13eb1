//===- Arena.cpp ----------------------------------------------------------===//

#include "runtime/program/Arena.h"

#include "runtime/support/AllocationLog.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace smet::rt {
namespace {

/// An empty arena is one byte, so that its base is not null.
size_t mappedBytes(const Manifest &manifest) { return size_t(std::max<int64_t>(manifest.arenaBytes, 1)); }

/// The bytes covered by at least one of the tensors, which may overlap.
int64_t covered(std::vector<const TensorInfo *> tensors) {
  std::ranges::sort(tensors, {}, &TensorInfo::offset);
  int64_t total = 0, end = 0;
  for (const TensorInfo *t : tensors) {
    int64_t from = std::max(end, t->offset);
    end = std::max(end, t->offset + t->bytes);
    total += std::max<int64_t>(end - from, 0);
  }
  return total;
}

/// The category of a persistent tensor.
int64_t &category(MemoryReport &report, const TensorInfo &t) {
  switch (t.role) {
  case Role::Param:
    return report.weights;
  case Role::State:
    if (t.name.ends_with(".m") || t.name.ends_with(".v"))
      return report.optimizer;
    return t.name.ends_with(".age") ? report.metadata : report.cache;
  case Role::Topology:
    return report.metadata;
  default:
    return report.io;
  }
}

} // namespace

Expected<Arena> Arena::create(const Manifest &manifest, Use use) {
  size_t size = mappedBytes(manifest);
  void *data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | (use == Use::Image ? MAP_NORESERVE : 0), -1, 0);
  if (data == MAP_FAILED)
    return fail("cannot allocate the program's memory of {} bytes: {}; use a smaller model, batch or density", size,
                std::strerror(errno));
  if (use == Use::Memory) {
    // Fewer misses of the address cache; without the kernel's support it changes nothing.
    madvise(data, size, MADV_HUGEPAGE);
    recordAllocation("arena", int64_t(size));
  }
  return Arena(manifest, static_cast<char *>(data));
}

Arena::Arena(Arena &&other) noexcept : manifest(other.manifest), data(std::exchange(other.data, nullptr)) {}

Arena::~Arena() {
  if (data)
    munmap(data, mappedBytes(*manifest));
}

Expected<const TensorInfo *> Arena::find(std::string_view name) const {
  const TensorInfo *info = manifest->find(name);
  if (!info)
    return fail("the program has no tensor '{}'; was it compiled for another use?", name);
  return info;
}

MemoryReport memoryReport(const Manifest &manifest) {
  MemoryReport report;
  std::vector<const TensorInfo *> workspace, gradients;
  for (const TensorInfo &t : manifest.tensors) {
    if (t.role != Role::Workspace) {
      category(report, t) += t.bytes;
      continue;
    }
    workspace.push_back(&t);
    if (t.name.ends_with(".grad"))
      gradients.push_back(&t);
  }
  report.gradients = covered(gradients);
  report.activations = covered(workspace) - report.gradients;
  report.total = manifest.arenaBytes;
  report.padding = report.total - (report.weights + report.gradients + report.optimizer + report.metadata +
                                   report.activations + report.cache + report.io);
  return report;
}

} // namespace smet::rt
