//===- Sampling.h - the next token from logits ------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_SAMPLING_H
#define SMET_RUNTIME_TRAIN_SAMPLING_H

#include <cstdint>
#include <span>

namespace smet::rt {

struct SamplingOptions {
  double temperature = 0.8; ///< 0: the most likely token
  int64_t topK = 0;         ///< only the k most likely tokens; 0: all
  double topP = 0.95;       ///< the smallest set of most likely tokens that reaches this probability; 1: all
};

/// Draws a token from softmax(logits / temperature) cut to topK, then topP, by the uniform number u in [0, 1): the
/// first token, most likely first, at which the cumulative probability exceeds u. Equal logits: the lower id first.
int32_t sampleToken(std::span<const float> logits, const SamplingOptions &options, double u);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_SAMPLING_H
