//===- Sampling.cpp - the next token from logits --------------------------===//

#include "runtime/train/Sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace smet::rt {

/// The first `count` tokens by falling logit.
static std::vector<int32_t> mostLikely(std::span<const float> logits, int64_t count) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  auto before = [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
  order.resize(count);
  return order;
}

/// How many of the falling `weights` reach the share topP of their sum; at least one.
static size_t nucleus(std::span<const double> weights, double topP) {
  double total = std::reduce(weights.begin(), weights.end()), sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    if ((sum += weights[i]) >= topP * total)
      return i + 1;
  return weights.size();
}

int32_t sampleToken(std::span<const float> logits, const SamplingOptions &options, double u) {
  auto vocabulary = static_cast<int64_t>(logits.size());
  bool greedy = options.temperature <= 0;
  int64_t count = greedy ? 1 : options.topK > 0 ? std::min(options.topK, vocabulary) : vocabulary;
  std::vector<int32_t> order = mostLikely(logits, count);
  if (greedy)
    return order.front();

  std::vector<double> weights(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    weights[i] = std::exp((static_cast<double>(logits[order[i]]) - logits[order[0]]) / options.temperature);
  weights.resize(nucleus(weights, options.topP));

  double threshold = u * std::reduce(weights.begin(), weights.end()), sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    if ((sum += weights[i]) > threshold)
      return order[i];
  return order[weights.size() - 1];
}

} // namespace smet::rt
