//===- Normal.cpp - numbers of the normal distribution --------------------===//

#include "runtime/cpu/Normal.h"

#include <bit>
#include <numbers>

#pragma clang fp contract(off)

namespace smet::rt {
namespace {

/// log(x) for normal x > 0: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and a polynomial in s = f / (2 + f).
[[gnu::always_inline]] inline double logarithm(double x) {
  constexpr uint64_t one = 0x3ff0000000000000, root = 0x3fe6a09e00000000; // bits of 1 and of about sqrt(1/2)
  uint64_t shifted = std::bit_cast<uint64_t>(x) + (one - root);
  auto k = double(int32_t(shifted >> 52) - 1023);
  double f = std::bit_cast<double>((shifted & 0xfffffffffffff) + root) - 1;
  double s = f / (2 + f), z = s * s, w = z * z;
  double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  double odd = z * (6.666666666666735130e-01 +
                    w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  double half = 0.5 * f * f, high = 6.93147180369123816490e-01, low = 1.90821492927058770002e-10; // high + low = log 2
  return k * high - ((half - (s * (half + (even + odd)) + k * low)) - f);
}

struct SineCosine {
  double sine, cosine;
};

/// Of x + y, |x| <= pi / 4, where y is below an ulp of x.
[[gnu::always_inline]] inline SineCosine kernels(double x, double y) {
  double z = x * x, w = z * z, v = z * x;
  double r = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +
             z * w * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
  double sine = x - ((z * (0.5 * y - v * r) - y) - v * -1.66666666666666324348e-01);
  double c = z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)) +
             w * w * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
  double half = 0.5 * z, rest = 1 - half;
  return {sine, rest + (((1 - rest) - half) + (z * c - x * y))};
}

/// Of 2 pi v, v in [0, 1).
[[gnu::always_inline]] inline SineCosine ofTurns(double v) {
  double angle = 2 * std::numbers::pi * v;
  auto quadrant = int32_t(4 * v + 0.5);
  // angle - quadrant pi / 2; the first product is exact.
  double first = angle - quadrant * 1.57079632673412561417e+00, second = quadrant * 6.07710050650619224932e-11;
  double x = first - second;
  SineCosine k = kernels(x, (first - x) - second);
  double sine = quadrant & 1 ? k.cosine : k.sine, cosine = quadrant & 1 ? k.sine : k.cosine;
  return {quadrant & 2 ? -sine : sine, (quadrant + 1) & 2 ? -cosine : cosine};
}

/// Inlined into one function per instruction set.
[[gnu::always_inline]] inline void pairsLoop(RandomSource source, std::span<const uint64_t> indices, double *pairs) {
  for (size_t i = 0; i < indices.size(); ++i) {
    PhiloxCounter w = source.words(indices[i]);
    double u = double(int64_t(((w[0] | uint64_t(w[1]) << 32) >> 11) + 1)) * 0x1p-53; // (0, 1]
    double v = double(int64_t((w[2] | uint64_t(w[3]) << 32) >> 11)) * 0x1p-53;       // [0, 1)
    double radius = __builtin_elementwise_sqrt(-2 * logarithm(u));
    SineCosine k = ofTurns(v);
    pairs[2 * i] = radius * k.cosine;
    pairs[2 * i + 1] = radius * k.sine;
  }
}

void pairsGeneric(const RandomSource &source, std::span<const uint64_t> indices, double *pairs) {
  pairsLoop(source, indices, pairs);
}
#if defined(__x86_64__)
[[gnu::target("avx2")]] void pairsAvx2(const RandomSource &source, std::span<const uint64_t> indices, double *pairs) {
  pairsLoop(source, indices, pairs);
}
[[gnu::target("avx512f,avx512dq,avx512vl")]] void pairsAvx512(const RandomSource &source,
                                                              std::span<const uint64_t> indices, double *pairs) {
  pairsLoop(source, indices, pairs);
}
#endif

std::vector<NormalPairsFunction> functionsHere() {
  std::vector<NormalPairsFunction> functions;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    functions.push_back(pairsAvx512);
  if (__builtin_cpu_supports("avx2"))
    functions.push_back(pairsAvx2);
#endif
  functions.push_back(pairsGeneric);
  return functions;
}

} // namespace

std::span<const NormalPairsFunction> normalPairsFunctions() {
  static const std::vector<NormalPairsFunction> functions = functionsHere();
  return functions;
}

} // namespace smet::rt
