//===- CPUSparse.h - plain loops that sparse CPU kernels are tested with --===//
//
// Activations are [T, F] here; kernels see them packed in tiles of 64 tokens, or 16 below 64 (role `state`, so that no
// packing kernel takes part in these tests). Tokens behind the last are zero in x and dy, and unspecified in y.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_KERNELS_CPUSPARSE_H
#define SMET_TEST_UNIT_KERNELS_CPUSPARSE_H

#include "KernelHarness.h"

#include "runtime/program/Processor.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

namespace smet::test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline int64_t tileWidth(int64_t tokens) { return tokens >= 64 ? 64 : 16; }

/// With all tokens in one tile, padded to whole ones: what kernels of a GPU see.
inline int64_t wholeWidth(int64_t tokens) {
  int64_t width = tileWidth(tokens);
  return (tokens + width - 1) / width * width;
}

inline Floats pack(const Floats &x, int64_t tokens, int64_t features, int64_t width) {
  int64_t tiles = (tokens + width - 1) / width;
  Floats packed(tiles * features * width);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t f = 0; f < features; ++f)
      packed[(t / width * features + f) * width + t % width] = x[t * features + f];
  return packed;
}

inline Floats pack(const Floats &x, int64_t tokens, int64_t features) {
  return pack(x, tokens, features, tileWidth(tokens));
}

inline Floats unpack(const Floats &packed, int64_t tokens, int64_t features, int64_t width) {
  Floats x(tokens * features);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t f = 0; f < features; ++f)
      x[t * features + f] = packed[(t / width * features + f) * width + t % width];
  return x;
}

inline Floats unpack(const Floats &packed, int64_t tokens, int64_t features) {
  return unpack(packed, tokens, features, tileWidth(tokens));
}

/// "{transpose}", say.
inline std::string spmmAttributes(bool transpose, bool accumulate) {
  return transpose && accumulate ? "{transpose, accumulate}"
         : transpose             ? "{transpose}"
         : accumulate            ? "{accumulate}"
                                 : "{}";
}

/// body(slot * R * C + r * C + c, row, column) for every active weight.
template <typename Body> void forWeights(const Topology &t, Body body) {
  int64_t at = 0;
  for (int64_t slot = 0; slot < t.nnz(); ++slot) {
    auto [rowBlock, colBlock] = t.block(slot);
    for (int64_t r = 0; r < t.blockRows; ++r)
      for (int64_t c = 0; c < t.blockCols; ++c)
        body(at++, rowBlock * t.blockRows + r, colBlock * t.blockCols + c);
  }
}

/// y += x Wᵀ, or x W with `transpose`; x is [T, K] ([T, N]).
inline Doubles plainSpmm(const Topology &t, const Floats &values, const Floats &x, Doubles y, int64_t tokens,
                         bool transpose) {
  forWeights(t, [&](int64_t at, int64_t row, int64_t column) {
    for (int64_t token = 0; token < tokens; ++token)
      if (transpose)
        y[token * t.cols + column] += double(values[at]) * x[token * t.rows + row];
      else
        y[token * t.rows + row] += double(values[at]) * x[token * t.cols + column];
  });
  return y;
}

/// dW at the active weights.
inline Doubles plainSddmm(const Topology &t, const Floats &x, const Floats &dy, int64_t tokens) {
  Doubles dvalues(t.nnz() * t.blockRows * t.blockCols);
  forWeights(t, [&](int64_t at, int64_t row, int64_t column) {
    for (int64_t token = 0; token < tokens; ++token)
      dvalues[at] += double(dy[token * t.rows + row]) * x[token * t.cols + column];
  });
  return dvalues;
}

/// A shape that kernels are tested with.
struct Case {
  int64_t rows, cols, blockRows, blockCols, tokens;
  double density;

  Topology topology(std::mt19937 &rng) const {
    return Topology::random(rows, cols, blockRows, blockCols, density, rng, /*emptyRow=*/1, /*fullRow=*/0);
  }
  std::string activation(int64_t features) const { return tensorType({tokens, features}); }
};

inline std::ostream &operator<<(std::ostream &os, const Case &c) {
  return os << c.rows << "x" << c.cols << " block " << c.blockRows << "x" << c.blockCols << " density " << c.density
            << " tokens " << c.tokens;
}

/// Every block shape, several tiles, a partial one, one-token decode.
inline std::vector<Case> cases() {
  return {{64, 96, 16, 16, 256, 0.3},
          {64, 48, 16, 16, 1, 0.5},
          {64, 72, 8, 8, 150, 0.3},
          {32, 40, 4, 4, 64, 0.4},
          {96, 128, 32, 32, 70, 0.5},
          {48, 30, 4, 2, 130, 0.3},
          {36, 64, 1, 16, 400, 0.3},
          {40, 56, 1, 1, 600, 0.2},
          {33, 57, 1, 1, 5, 0.5},
          {64, 36, 16, 1, 100, 0.3},
          {27, 55, 3, 5, 128, 0.4},
          {20, 42, 2, 3, 65, 0.6},
          {21, 22, 1, 2, 64, 0.5},
          {128, 384, 128, 128, 70, 1},
          {24, 14, 1, 7, 33, 0.5},
          // From 256 tokens on, inputs scattered to panels of 256 outputs and outputs summed over panels of 128 inputs.
          {290, 64, 1, 16, 300, 0.2},
          {32, 290, 16, 1, 260, 0.3},
          {270, 21, 1, 7, 256, 0.4},
          {26, 270, 2, 1, 320, 0.3},
          {290, 270, 1, 1, 300, 0.1},
          {140, 270, 1, 1, 320, 0.6},
          // Gradients picked from panels of 192 rows, 64 columns and 1,024 tokens.
          {203, 270, 1, 1, 1100, 0.6},
          {21, 600, 1, 1, 70, 0.4}};
}

/// A kernel whose entry points "0", "1", ... are the product that `text` writes in each way that a tuner would try.
struct EveryChoice {
  explicit EveryChoice(const std::function<std::string(std::string)> &text) {
    bool wide = !std::getenv("SMET_TEST_CPU") && rt::machineHas("avx512vl");
    auto choices = wide ? choicesOf(text(""), 512, 32) : choicesOf(text(""), 256, 16);
    EXPECT_GE(choices.size(), 3u);
    std::string module;
    for (size_t i = 0; i < choices.size(); ++i) {
      std::string function = text("smet.choice = " + choices[i]);
      module += function.replace(function.find("@main"), 5, fmt::format("@\"{}\"", i)) + "\n";
      entries.push_back(std::to_string(i));
    }
    kernel.emplace(module, Target::CPU, 2, wide ? "x86-64-v4" : "x86-64-v3");
  }

  std::optional<Kernel> kernel;
  std::vector<std::string> entries;
};

} // namespace smet::test

#endif // SMET_TEST_UNIT_KERNELS_CPUSPARSE_H
