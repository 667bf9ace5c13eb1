//===- Fit.h - does a program fit on a card? --------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_CUDA_FIT_H
#define SMET_RUNTIME_CUDA_FIT_H

#include "runtime/cuda/Card.h"
#include "runtime/program/Manifest.h"

namespace smet::rt::cuda {

/// An error where the program's arena is larger than the card's free memory: with the plan, and the batch that would
/// fit, if one would. What grows with the batch are activations, inputs and outputs.
Status checkFits(const Manifest &manifest, const Card &card, const CardMemory &memory);

} // namespace smet::rt::cuda

#endif // SMET_RUNTIME_CUDA_FIT_H
