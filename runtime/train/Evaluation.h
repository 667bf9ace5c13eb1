//===- Evaluation.h - loss on held-out text ---------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_EVALUATION_H
#define SMET_RUNTIME_TRAIN_EVALUATION_H

#include "runtime/data/Batches.h"
#include "runtime/program/Instance.h"

namespace smet::rt {

struct EvalResult {
  double loss = 0; ///< nats a token
  double bitsPerCharacter = 0;
  int64_t tokens = 0;

  double perplexity() const;
};

/// The batch shape that a training program was compiled for.
Expected<BatchShape> batchShape(const Manifest &manifest);

/// Runs eval_step over the first `limit` batches (0: all), weighting each by its valid targets. A loss that is not
/// finite is a result, not an error; an interrupt is an error. Overwrites the program's tokens, targets, num_valid and
/// loss.
Expected<EvalResult> evaluate(Instance &instance, const EvalBatches &batches, int64_t limit);

/// "loss 2.8590  perplexity 17.44  1.280 bits/char  (70,123 tokens)"
std::string evalLine(const EvalResult &result);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_EVALUATION_H
