//===- TopologyStats.h - which blocks are active, compared ------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_TOPOLOGYSTATS_H
#define SMET_RUNTIME_TRAIN_TOPOLOGYSTATS_H

#include "runtime/program/Instance.h"

#include <cstdint>
#include <vector>

namespace smet::rt {

/// Linear indices (block row * block columns + block column) of the active blocks of each sparse layer, ascending.
using ActiveBlocks = std::vector<std::vector<int32_t>>;

Expected<ActiveBlocks> activeBlocks(Instance &instance);

int64_t countBlocks(const ActiveBlocks &blocks);
/// Blocks active in both, over all layers.
int64_t countCommon(const ActiveBlocks &a, const ActiveBlocks &b);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_TOPOLOGYSTATS_H
