//===- Silu.h - the formulas of silu_mul ------------------------*- C++ -*-===//
#ifndef SMET_CONVERSION_SILU_H
#define SMET_CONVERSION_SILU_H

#include "smet/Conversion/KernelBuilder.h"

namespace smet {

inline Val sigmoid(KernelBuilder &k, Val x) { return k.real(1, x.type()) / (k.exp(k.neg(x)) + 1); }

inline Val siluMul(KernelBuilder &k, Val gate, Val up) { return gate * sigmoid(k, gate) * up; }

/// With s = sigmoid(gate): dgate = dy up s (1 + gate (1 - s)), dup = dy gate s.
inline Vals siluMulGrad(KernelBuilder &k, Val gate, Val up, Val dy) {
  Val s = sigmoid(k, gate), one = k.real(1, s.type());
  return {dy * up * s * (one + gate * (one - s)), dy * gate * s};
}

} // namespace smet

#endif // SMET_CONVERSION_SILU_H
