//===- LaunchQueue.cpp ----------------------------------------------------===//
#include "runtime/cuda/LaunchQueue.h"

namespace smet::rt::cuda {

LaunchQueue::~LaunchQueue() {
  for (auto &[entry, list] : entries)
    for (Segment &segment : list)
      forget(segment);
}

void LaunchQueue::forget(Segment &segment) {
  if (segment.graph)
    driver.graphExecDestroy(segment.graph);
  segment = {};
}

void LaunchQueue::begin(std::string_view entry, bool graphs) {
  pending.clear();
  next = 0;
  segments = graphs ? &entries[std::string(entry)] : nullptr;
}

Status LaunchQueue::launchAll() {
  for (QueuedLaunch &launch : pending) {
    std::vector<void *> arguments;
    for (uint64_t &value : launch.arguments)
      arguments.push_back(&value);
    auto [gridX, gridY, gridZ] = launch.grid;
    auto [blockX, blockY, blockZ] = launch.block;
    Result result = driver.launchKernel(launch.function, gridX, gridY, gridZ, blockX, blockY, blockZ,
                                        launch.sharedBytes, stream, arguments.data(), nullptr);
    if (Status launched = driver.check(result, fmt::format("kernel '{}' of {} x {} x {} blocks of {} x {} x {} threads",
                                                           launch.kernel, gridX, gridY, gridZ, blockX, blockY, blockZ));
        !launched)
      return launched;
  }
  return {};
}

/// A graph of the pending launches.
Status LaunchQueue::capture(Segment &segment) {
  Graph graph = nullptr;
  if (Status begun = driver.check(driver.streamBeginCapture(stream, kThreadLocalCapture), "capturing a graph"); !begun)
    return begun;
  Status launched = launchAll();
  Status ended = driver.check(driver.streamEndCapture(stream, &graph), "capturing a graph");
  if (launched && ended)
    ended = driver.check(driver.graphInstantiate(&segment.graph, graph, 0), "making a graph");
  if (graph)
    driver.graphDestroy(graph);
  return launched ? ended : launched;
}

Status LaunchQueue::flush() {
  if (pending.empty())
    return {};
  Status done;
  if (!segments) {
    done = launchAll();
  } else {
    if (next == segments->size())
      segments->emplace_back();
    Segment &segment = (*segments)[next++];
    if (segment.launches != pending) {
      forget(segment);
      done = launchAll();
      segment.launches = std::move(pending);
    } else {
      if (!segment.graph)
        done = capture(segment);
      if (done)
        done = driver.check(driver.graphLaunch(segment.graph, stream), "launching a graph");
    }
  }
  pending.clear();
  return done;
}

} // namespace smet::rt::cuda
