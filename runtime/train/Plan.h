//===- Plan.h - what a program will cost ------------------------*- C++ -*-===//
//
// Parameters, memory and arithmetic of a compiled program, read from its manifest; nothing is allocated. The sparse
// column is what the program has, byte for byte; the dense column is the formula for the same model without sparsity.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_PLAN_H
#define SMET_RUNTIME_TRAIN_PLAN_H

#include "runtime/program/Manifest.h"

#include <string>

namespace smet::rt {

struct ModelCounts {
  int64_t parameters = 0, active = 0;             ///< all weights; those that exist
  int64_t sparseParameters = 0, activeSparse = 0; ///< the same in sparse layers only
  int64_t multiplied = 0, activeMultiplied = 0;   ///< weights of matrix products (all but embedding and norms)
};

ModelCounts countModel(const Manifest &manifest);

/// Floating-point operations of a training step: 6 a token and multiplied weight (2 forward, 4 backward), and for
/// attention's two products 6 S^2 H a sequence and layer (causal: half of the S^2 scores).
struct StepFlops {
  double sparse = 0, dense = 0;
};
StepFlops stepFlops(const Manifest &manifest);

/// Weights, gradients, optimizer state, metadata, activations: bytes of this program beside the dense formula (weights
/// 4 N, gradients 4 N, optimizer 8 N, the same activations).
std::string memoryTable(const Manifest &manifest);

/// What --dry-run prints.
std::string planText(const Manifest &manifest);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_PLAN_H
