//===- Card.h - the GPUs of this machine ------------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_CUDA_CARD_H
#define SMET_RUNTIME_CUDA_CARD_H

#include "runtime/cuda/Driver.h"

#include <string>
#include <vector>

namespace smet::rt::cuda {

struct Card {
  DeviceId id = 0;
  std::string name;         ///< "NVIDIA H200"
  int major = 0, minor = 0; ///< compute capability

  /// What kernels for it are compiled for at best: from 9.0 on with what only this generation has ("sm_90a").
  std::string chip() const;
};

/// Kernels use what cards have from compute capability 8.0 (A100) on.
inline constexpr int kMinMajor = 8;

/// Of the card's memory, in bytes; needs a context on it, so that it takes a moment.
struct CardMemory {
  int64_t free = 0, total = 0;
};

/// In the driver's order, which $CUDA_VISIBLE_DEVICES changes.
Expected<std::vector<Card>> findCards(const Driver &driver);
Expected<CardMemory> memoryOf(const Driver &driver, const Card &card);
/// The same where a context is current.
Expected<CardMemory> currentMemory(const Driver &driver);

} // namespace smet::rt::cuda

#endif // SMET_RUNTIME_CUDA_CARD_H
