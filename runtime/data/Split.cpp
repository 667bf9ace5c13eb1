//===- Split.cpp ----------------------------------------------------------===//

#include "runtime/data/Split.h"

#include <algorithm>

namespace smet::rt {
namespace {

constexpr int64_t period = 20, validating = 10; ///< chunk number modulo the period
constexpr int64_t minChunk = 128, maxChunk = 4096, passages = 256;

int64_t chunkSize(int64_t tokens) {
  int64_t chunk = std::clamp(tokens / (period * passages), minChunk, maxChunk);
  return std::clamp<int64_t>(tokens / period, 1, chunk);
}

} // namespace

Split::Split(int64_t tokens) : tokens(tokens), chunk(chunkSize(tokens)), train(tokens) {
  for (const TokenRange &range : validation())
    train -= range.size();
}

int64_t Split::trainPosition(int64_t i) const {
  // `before` training tokens, then a validation chunk, then groups of `between` and a validation chunk.
  int64_t before = validating * chunk, between = (period - 1) * chunk;
  return i < before ? i : i + chunk * (1 + (i - before) / between);
}

std::vector<TokenRange> Split::validation() const {
  std::vector<TokenRange> ranges;
  for (int64_t begin = validating * chunk; begin < tokens; begin += period * chunk)
    ranges.push_back({begin, std::min(begin + chunk, tokens)});
  return ranges;
}

} // namespace smet::rt
