//===- Inspect.h - what is in a checkpoint or a program ---------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_INSPECT_H
#define SMET_RUNTIME_TRAIN_INSPECT_H

#include "runtime/checkpoint/Checkpoint.h"

#include <string>

namespace smet::rt {

/// A program: what it was compiled for, entry points, sparse layers, plan.
std::string inspectProgram(const Manifest &manifest);

/// A checkpoint: step, parameters, density of each sparse layer with its blocks drawn as a map of shades, ages.
Expected<std::string> inspectCheckpoint(const Checkpoint &checkpoint, bool unicode);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_INSPECT_H
