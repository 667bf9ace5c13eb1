//===- Halves.h - arrays of bf16 in tests -----------------------*- C++ -*-===//
#ifndef SMET_TEST_UNIT_KERNELS_HALVES_H
#define SMET_TEST_UNIT_KERNELS_HALVES_H

#include "runtime/cpu/BF16.h"

#include <cstdint>
#include <vector>

namespace smet::test {

using Halves = std::vector<uint16_t>;

inline Halves toBF16(const std::vector<float> &values) {
  Halves bits;
  for (float value : values)
    bits.push_back(rt::BF16(value).bits);
  return bits;
}

inline float toFloat(uint16_t bits) {
  rt::BF16 half;
  half.bits = bits;
  return float(half);
}

inline std::vector<float> toFloats(const Halves &bits) {
  std::vector<float> values;
  for (uint16_t half : bits)
    values.push_back(toFloat(half));
  return values;
}

} // namespace smet::test

#endif // SMET_TEST_UNIT_KERNELS_HALVES_H
