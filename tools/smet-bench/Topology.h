//===- Topology.h - smet-bench topology -------------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_TOPOLOGY_H
#define SMET_TOOLS_BENCH_TOPOLOGY_H

#include "Step.h"

namespace smet::bench {

/// Measures topology updates (score, prune, grow, merge with the transposed index, remap) and prints where their time
/// goes, beside that of the training steps between two of them.
rt::Expected<int> runTopology(const StepOptions &options, const std::string &title);

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_TOPOLOGY_H
