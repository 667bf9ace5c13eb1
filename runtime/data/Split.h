//===- Split.h - which tokens train and which validate ----------*- C++ -*-===//
//
// A text of N tokens is cut into chunks; of each 20 chunks, the 11th validates. So validation is 5 % of the text, spread
// evenly through it, and the same for every batch size and sequence length. A chunk has N / 5120 tokens, so that 256
// passages decide the validation loss and not the few that happen to be drawn, but at least 128 (or N / 20 of a shorter
// text), for some context, and at most 4096.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_DATA_SPLIT_H
#define SMET_RUNTIME_DATA_SPLIT_H

#include "runtime/support/Error.h"

#include <cstdint>
#include <vector>

namespace smet::rt {

/// Token positions [begin, end).
struct TokenRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const TokenRange &) const = default;
};

class Split {
public:
  explicit Split(int64_t tokens);

  /// Tokens that train, and the position in the text of the i-th of them.
  int64_t trainTokens() const { return train; }
  int64_t trainPosition(int64_t i) const;
  /// The chunks that validate, in order. None starts at 0, so the token before it can be its first input.
  std::vector<TokenRange> validation() const;

private:
  int64_t tokens, chunk, train;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_DATA_SPLIT_H
