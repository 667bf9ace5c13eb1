//===- Hash.h - SHA-256 and CRC-32 ------------------------------*- C++ -*-===//
//
// SHA-256 (FIPS 180-4) names things by their content: caches, tokenizers, models. CRC-32 (zlib's polynomial) finds
// damage: program files, shards, checkpoints.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_SUPPORT_HASH_H
#define SMET_RUNTIME_SUPPORT_HASH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smet::rt {

/// Adds `blocks` blocks of 64 bytes to the state.
using Sha256Function = void (*)(uint32_t *state, const uint8_t *data, size_t blocks);

/// With the processor's own instructions where it has them, then in plain C++; all compute the same.
std::span<const Sha256Function> sha256Functions();

class Sha256 {
public:
  explicit Sha256(Sha256Function compress = sha256Functions().front()) : compress(compress) {}
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  /// The digest in lower-case hexadecimal (64 characters). Nothing can be added after it.
  std::string finish();

private:
  Sha256Function compress;
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending{};
  uint64_t length = 0; ///< bytes so far; length % 64 of them are pending
};

/// The digest of `text` in lower-case hexadecimal.
std::string sha256(std::string_view text);

/// The CRC-32 of `bytes`; `previous` is that of what came before them.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t previous = 0);

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_HASH_H
