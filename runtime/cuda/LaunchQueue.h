//===- LaunchQueue.h - launches, replayed as graphs -------------*- C++ -*-===//
//
// The host code of an entry point runs anew every time and asks for each launch. Since shapes and addresses are those
// of the program, it asks for the same ones, and the driver's work on them can be saved: the launches between two
// places at which the host waits (a read, a routine, the end) are a segment. It is kept as a list of kernels, sizes and
// argument values, and compared with what this place of the entry point asked for before:
//
//   other launches, or the first time   they are launched one by one, and remembered
//   the same, for the first time        they are captured into a graph, which is launched
//   the same again                      the graph is launched
//
// so that an entry point that runs once is not captured, and one that asks for something new is right all the same.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CUDA_LAUNCHQUEUE_H
#define SMET_RUNTIME_CUDA_LAUNCHQUEUE_H

#include "runtime/cuda/Driver.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace smet::rt::cuda {

/// A launch with the values of its arguments, of at most 8 bytes each.
struct QueuedLaunch {
  const char *kernel;
  Function function;
  std::array<unsigned, 3> grid, block;
  unsigned sharedBytes;
  std::vector<uint64_t> arguments;

  bool operator==(const QueuedLaunch &) const = default;
};

class LaunchQueue {
public:
  /// `driver` must outlive this, `stream` too; its context is current wherever this is used.
  LaunchQueue(const Driver &driver, Stream stream) : driver(driver), stream(stream) {}
  LaunchQueue(const LaunchQueue &) = delete;
  ~LaunchQueue();

  /// What follows belongs to this entry point; without graphs, its segments are neither compared nor remembered.
  void begin(std::string_view entry, bool graphs);
  void add(QueuedLaunch launch) { pending.push_back(std::move(launch)); }
  /// Ends a segment: gives its launches to the stream. Their failures show only when it is waited for.
  Status flush();

private:
  struct Segment {
    std::vector<QueuedLaunch> launches;
    GraphExec graph = nullptr;
  };

  Status launchAll();
  Status capture(Segment &segment);
  void forget(Segment &segment);

  const Driver &driver;
  Stream stream;
  std::vector<QueuedLaunch> pending;
  std::map<std::string, std::vector<Segment>, std::less<>> entries;
  std::vector<Segment> *segments = nullptr; ///< of this entry point; null: without graphs
  size_t next = 0;                          ///< segment
};

} // namespace smet::rt::cuda

#endif // SMET_RUNTIME_CUDA_LAUNCHQUEUE_H
