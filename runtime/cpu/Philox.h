//===- Philox.h - counter-based random numbers ------------------*- C++ -*-===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a number is a function of a
// counter and a key, so that any thread, and a resumed run, draws the same one. What is drawn is identified by
// (seed, stream, layer, update, index), which are packed into counter and key here and nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CPU_PHILOX_H
#define SMET_RUNTIME_CPU_PHILOX_H

#include <array>
#include <cstdint>

namespace smet::rt {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Four random words. Inlined always, and on plain words, so that a loop over counters becomes vectors.
[[gnu::always_inline]] inline PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey k) {
  uint32_t c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], k0 = k[0], k1 = k[1];
#pragma clang loop unroll(full)
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c0, p1 = uint64_t(0xCD9E8D57) * c2;
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p1);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

/// What a random number is for; streams never share numbers.
enum class RandomStream : uint32_t { Topology = 0, Normal = 1, Sampling = 2 };

/// Identifies the random numbers of one layer at one topology update (0 at the start); they are told apart by an index
/// below 2^56.
struct RandomSource {
  RandomStream stream;
  int64_t seed = 0;
  int64_t layer = 0;
  int64_t update = 0;

  [[gnu::always_inline]] PhiloxCounter words(uint64_t index) const {
    return philox4x32(
        {uint32_t(index), uint32_t(index >> 32) | uint32_t(stream) << 24, uint32_t(layer), uint32_t(update)},
        {uint32_t(seed), uint32_t(uint64_t(seed) >> 32)});
  }
};

/// A uniform 64-bit number.
[[gnu::always_inline]] inline uint64_t randomKey(const RandomSource &source, uint64_t index) {
  PhiloxCounter w = source.words(index);
  return w[0] | uint64_t(w[1]) << 32;
}

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_PHILOX_H
