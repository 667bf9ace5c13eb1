//===- Generate.h - text from a trained model -------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_GENERATE_H
#define SMET_RUNTIME_TRAIN_GENERATE_H

#include "runtime/data/Tokenizer.h"
#include "runtime/program/Instance.h"
#include "runtime/train/Sampling.h"

#include <string>
#include <string_view>

namespace smet::rt {

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t maxTokens = 100;
  std::string stop; ///< ends the text when it appears in it; empty: never
  int64_t seed = 0;
  uint64_t sample = 0; ///< which of several texts of one seed
};

/// Continues the prompt by `infer`'s prefill and decode until the end of document, maxTokens, the stop text or the end
/// of the context. Returns prompt and continuation; the same inputs give the same text.
Expected<std::string> generate(Instance &infer, const Tokenizer &tokenizer, std::string_view prompt,
                               const GenerateOptions &options);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_GENERATE_H
