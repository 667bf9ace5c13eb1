//===- Batches.cpp --------------------------------------------------------===//

#include "runtime/data/Batches.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace smet::rt {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection that mixes all bits.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Random bits of (seed, epoch).
uint64_t epochKey(uint64_t seed, int64_t epoch) { return mix(mix(seed + 0x9e3779b97f4a7c15) ^ uint64_t(epoch)); }

/// Where a random permutation of [0, n) puts i. A Feistel network permutes the next power of four; walking its cycle
/// from i until it returns into [0, n) restricts that to a permutation of [0, n), in fewer than 4 steps on average.
int64_t permute(int64_t i, int64_t n, uint64_t key) {
  int half = (std::bit_width(uint64_t(n - 1)) + 1) / 2;
  uint64_t mask = (uint64_t(1) << half) - 1;
  uint64_t x = i;
  do {
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < 6; ++round)
      left = std::exchange(right, left ^ (mix(key + mix(round << 32 ^ right)) & mask));
    x = left << half | right;
  } while (x >= uint64_t(n));
  return x;
}

/// Writes one row: S targets, then padding. `token(i)` is token i of the row's S + 1.
template <typename Token>
void fillRow(int64_t length, Token token, std::span<int32_t> tokens, std::span<int32_t> targets) {
  for (int64_t i = 0; i < length; ++i) {
    tokens[i] = token(i);
    targets[i] = token(i + 1);
  }
  std::ranges::fill(tokens.subspan(length), 0);
  std::ranges::fill(targets.subspan(length), -1);
}

} // namespace

Expected<TrainBatches> TrainBatches::create(const TokenShard &shard, BatchShape shape, uint64_t seed) {
  Split split(shard.size());
  int64_t usable = split.trainTokens() - 1;
  if (usable < shape.seqLen || split.validation().empty())
    return fail("the data is too short: {} tokens, of which {} train, but a sequence of length {} takes {}; use more "
                "text or a smaller --seq-len",
                shard.size(), split.trainTokens(), shape.seqLen, shape.seqLen + 1);
  return TrainBatches(shard, split, shape, seed, std::max<int64_t>(1, usable / shape.seqLen - 1));
}

int64_t TrainBatches::sequenceStart(int64_t index) const {
  uint64_t key = epochKey(seed, index / count);
  int64_t offsets = split.trainTokens() - count * shape.seqLen; // so that the last target is a training token
  return int64_t(mix(key) % uint64_t(offsets)) + permute(index % count, count, key) * shape.seqLen;
}

int64_t TrainBatches::fill(int64_t step, std::span<int32_t> tokens, std::span<int32_t> targets) const {
  for (int64_t row = 0; row < shape.sequences; ++row) {
    int64_t start = sequenceStart((step - 1) * shape.sequences + row), place = row * shape.paddedSeqLen;
    fillRow(
        shape.seqLen, [&](int64_t i) { return (*shard)[split.trainPosition(start + i)]; },
        tokens.subspan(place, shape.paddedSeqLen), targets.subspan(place, shape.paddedSeqLen));
  }
  return shape.sequences * shape.seqLen;
}

Expected<EvalBatches> EvalBatches::create(const TokenShard &shard, const Tokenizer &tokenizer, BatchShape shape,
                                          std::vector<TokenRange> ranges) {
  EvalBatches batches;
  batches.shard = &shard;
  batches.tokenizer = &tokenizer;
  batches.shape = shape;
  for (const TokenRange &range : ranges)
    for (int64_t begin = range.begin; begin < range.end; begin += shape.seqLen)
      batches.sequences.push_back({begin, std::min(begin + shape.seqLen, range.end)});
  if (batches.sequences.empty())
    return fail("the data is too short to evaluate on: {} tokens", shard.size());
  return batches;
}

Expected<EvalBatches> EvalBatches::validation(const TokenShard &shard, const Tokenizer &tokenizer, BatchShape shape) {
  return create(shard, tokenizer, shape, Split(shard.size()).validation());
}

Expected<EvalBatches> EvalBatches::wholeText(const TokenShard &shard, const Tokenizer &tokenizer, BatchShape shape) {
  return create(shard, tokenizer, shape, {{1, shard.size()}});
}

int64_t EvalBatches::size() const { return (int64_t(sequences.size()) + shape.sequences - 1) / shape.sequences; }

EvalCounts EvalBatches::fill(int64_t i, std::span<int32_t> tokens, std::span<int32_t> targets) const {
  EvalCounts counts;
  for (int64_t row = 0; row < shape.sequences; ++row) {
    size_t index = i * shape.sequences + row;
    TokenRange range = index < sequences.size() ? sequences[index] : TokenRange();
    int64_t place = row * shape.paddedSeqLen;
    fillRow(
        range.size(), [&](int64_t j) { return (*shard)[range.begin - 1 + j]; },
        tokens.subspan(place, shape.paddedSeqLen), targets.subspan(place, shape.paddedSeqLen));
    counts.targets += range.size();
    for (int64_t position = range.begin; position < range.end; ++position)
      counts.characters += tokenizer->characters((*shard)[position], (*shard)[position - 1]);
  }
  return counts;
}

} // namespace smet::rt
