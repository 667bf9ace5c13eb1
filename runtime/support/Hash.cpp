//===- Hash.cpp -----------------------------------------------------------===//

#include "runtime/support/Hash.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace smet::rt {
namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void compressBlock(uint32_t *state, const uint8_t *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 | uint32_t(block[4 * i + 2]) << 8 |
           uint32_t(block[4 * i + 3]);
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += add[i];
}

void compressPlain(uint32_t *state, const uint8_t *data, size_t blocks) {
  for (; blocks > 0; --blocks, data += 64)
    compressBlock(state, data);
}

#if defined(__x86_64__)
/// The state's eight words lie in two registers, in the order that sha256rnds2 wants: f e b a and h g d c.
[[gnu::target("sha,sse4.1")]] void compressSha(uint32_t *state, const uint8_t *data, size_t blocks) {
  auto load = [](const void *from) __attribute__((target("sha,sse4.1"))) {
    return _mm_loadu_si128(static_cast<const __m128i *>(from));
  };
  const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i dcba = load(state), hgfe = load(state + 4);
  __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; blocks > 0; --blocks, data += 64) {
    __m128i before0 = abef, before1 = cdgh, w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(load(data + 16 * i), bigEndian);
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; ++i) { // four rounds; w[i % 4] has their words
      if (i >= 4) {
        __m128i last = w[(i + 3) % 4], between = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
        w[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), between), last);
      }
      __m128i words = _mm_add_epi32(w[i % 4], load(roundConstants + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
    }
    abef = _mm_add_epi32(abef, before0);
    cdgh = _mm_add_epi32(cdgh, before1);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

std::vector<Sha256Function> functionsHere() {
  std::vector<Sha256Function> functions;
#if defined(__x86_64__)
  if (unsigned a, b, c, d; __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) && __builtin_cpu_supports("sse4.1"))
    functions.push_back(compressSha);
#endif
  functions.push_back(compressPlain);
  return functions;
}

} // namespace

std::span<const Sha256Function> sha256Functions() {
  static const std::vector<Sha256Function> functions = functionsHere();
  return functions;
}

void Sha256::update(std::span<const std::byte> bytes) {
  auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t size = bytes.size();
  size_t used = length % 64;
  length += size;
  if (used != 0) {
    size_t take = std::min(size, 64 - used);
    std::copy_n(data, take, pending.begin() + used);
    data += take, size -= take;
    if (used + take < 64)
      return;
    compress(state.data(), pending.data(), 1);
  }
  compress(state.data(), data, size / 64);
  std::copy_n(data + size / 64 * 64, size % 64, pending.begin());
}

std::string Sha256::finish() {
  uint64_t bits = length * 8;
  std::array<std::byte, 72> padding{std::byte(0x80)};
  size_t zeros = (119 - length % 64) % 64;
  for (int i = 0; i < 8; ++i)
    padding[1 + zeros + i] = std::byte(bits >> (56 - 8 * i));
  update(std::span(padding).first(1 + zeros + 8));
  std::string hex;
  for (uint32_t word : state)
    hex += fmt::format("{:08x}", word);
  return hex;
}

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.finish();
}

uint32_t crc32(std::span<const std::byte> bytes, uint32_t previous) {
  return uint32_t(::crc32_z(previous, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

} // namespace smet::rt
