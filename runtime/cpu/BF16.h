//===- BF16.h - the upper half of a float -----------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_CPU_BF16_H
#define SMET_RUNTIME_CPU_BF16_H

#include <bit>
#include <cstdint>

namespace smet::rt {

/// How weights and activations may be stored: a number of f32 without its lower 16 bits.
struct BF16 {
  uint16_t bits = 0;

  BF16() = default;
  /// The nearest bf16, of two the one farther from zero. A NaN stays one.
  explicit BF16(float value) {
    auto whole = std::bit_cast<uint32_t>(value);
    bits = value != value ? uint16_t(whole >> 16 | 0x40) : uint16_t((whole + 0x8000) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_BF16_H
