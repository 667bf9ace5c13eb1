//===- RandomData.h - contents for products on their own --------*- C++ -*-===//
//
// What a program without init needs before its entry points are timed.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_RANDOMDATA_H
#define SMET_RUNTIME_PROGRAM_RANDOMDATA_H

#include "runtime/cpu/Topology.h"
#include "runtime/program/Instance.h"

namespace smet::rt {

/// Draws `nnz` active blocks for the topology argument `name`, whose arrays are "name.positions" and so on; `layer`
/// keys the random numbers.
void drawTopology(Instance &instance, ThreadPool &pool, const std::string &name, const BlockGrid &grid, int64_t nnz,
                  int64_t layer);

/// Draws N(0, 0.02) for every tensor of f32 or bf16 outside the workspace.
void drawTensors(Instance &instance, ThreadPool &pool);

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_RANDOMDATA_H
