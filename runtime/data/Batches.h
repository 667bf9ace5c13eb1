//===- Batches.h - what each step trains or evaluates on --------*- C++ -*-===//
//
// A sequence of S = seqLen targets reads S + 1 consecutive tokens. It fills paddedSeqLen places of a batch; places
// behind its end have token 0 and target -1, which the loss ignores. Batches are found from their number alone, so a
// run resumes from its step and nothing else.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_DATA_BATCHES_H
#define SMET_RUNTIME_DATA_BATCHES_H

#include "runtime/data/Shards.h"
#include "runtime/data/Split.h"

namespace smet::rt {

/// Sizes of a batch's arrays: `sequences` rows of `paddedSeqLen` places, the first `seqLen` of them used.
struct BatchShape {
  int64_t sequences = 0, seqLen = 0, paddedSeqLen = 0;
  int64_t places() const { return sequences * paddedSeqLen; }
};

/// The training batches: an endless row of epochs over the training tokens, each in its own order.
///
/// With T training tokens (Split), an epoch has max(1, (T - 1) / S - 1) sequences that do not overlap. Epoch e starts
/// them at a random offset and visits them in a random order, both drawn from (seed, e) by counter: the order is a
/// permutation computed in place (a Feistel network, walked until it falls into range), never stored.
class TrainBatches {
public:
  /// `shard` must outlive the object. Text shorter than one sequence and its validation part is an error.
  static Expected<TrainBatches> create(const TokenShard &shard, BatchShape shape, uint64_t seed);

  /// The batch of a step (from 1). `tokens` and `targets` have shape.places() elements. Returns the number of targets
  /// that are not -1.
  int64_t fill(int64_t step, std::span<int32_t> tokens, std::span<int32_t> targets) const;

  int64_t sequencesPerEpoch() const { return count; }

  /// Where sequence `index` of the endless row starts, counted in training tokens.
  int64_t sequenceStart(int64_t index) const;

private:
  TrainBatches(const TokenShard &shard, Split split, BatchShape shape, uint64_t seed, int64_t count)
      : shard(&shard), split(split), shape(shape), seed(seed), count(count) {}

  const TokenShard *shard;
  Split split;
  BatchShape shape;
  uint64_t seed;
  int64_t count;
};

/// What a batch of an evaluation has to be weighted with.
struct EvalCounts {
  int64_t targets = 0;    ///< valid ones
  int64_t characters = 0; ///< code points of the text that these targets stand for, for bits per character
};

/// Batches that score every token of some ranges once, in order. The first target of a range has the token before
/// the range as its input; sequences do not cross ranges, a range's last one is padded.
class EvalBatches {
public:
  /// Over the validation part of a text.
  static Expected<EvalBatches> validation(const TokenShard &shard, const Tokenizer &tokenizer, BatchShape shape);
  /// Over all of a text but its first token.
  static Expected<EvalBatches> wholeText(const TokenShard &shard, const Tokenizer &tokenizer, BatchShape shape);

  int64_t size() const;
  /// Batch i of [0, size()); rows behind the last sequence are all padding.
  EvalCounts fill(int64_t i, std::span<int32_t> tokens, std::span<int32_t> targets) const;

private:
  static Expected<EvalBatches> create(const TokenShard &shard, const Tokenizer &tokenizer, BatchShape shape,
                                      std::vector<TokenRange> ranges);

  const TokenShard *shard = nullptr;
  const Tokenizer *tokenizer = nullptr;
  BatchShape shape;
  std::vector<TokenRange> sequences; ///< positions of their targets
};

} // namespace smet::rt

#endif // SMET_RUNTIME_DATA_BATCHES_H
