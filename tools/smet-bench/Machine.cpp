//===- Machine.cpp - what this machine can do -----------------------------===//
#include "Machine.h"

#include "Statistics.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <immintrin.h>

namespace smet::bench {
namespace {

/// A sum that the compiler must believe to be used.
void use(float value) { asm volatile("" : : "x"(value)); }

// Enough independent sums for two FMA units of a latency of four or five; returns the FLOPs of a round.
__attribute__((target("avx512f"))) double fmas512(int64_t rounds) {
  constexpr int sums = 20;
  __m512 a[sums], b = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(1e-4f);
  for (__m512 &sum : a)
    sum = c;
  asm volatile("" : "+v"(b), "+v"(c));
  for (int64_t i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < sums; ++j)
      a[j] = _mm512_fmadd_ps(a[j], b, c);
  for (int j = 1; j < sums; ++j)
    a[0] = _mm512_add_ps(a[0], a[j]);
  use(_mm512_reduce_add_ps(a[0]));
  return sums * 32.0;
}

__attribute__((target("avx2,fma"))) double fmas256(int64_t rounds) {
  constexpr int sums = 12;
  __m256 a[sums], b = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(1e-4f);
  for (__m256 &sum : a)
    sum = c;
  asm volatile("" : "+x"(b), "+x"(c));
  for (int64_t i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < sums; ++j)
      a[j] = _mm256_fmadd_ps(a[j], b, c);
  for (int j = 1; j < sums; ++j)
    a[0] = _mm256_add_ps(a[0], a[j]);
  use(a[0][0]);
  return sums * 16.0;
}

double fmas128(int64_t rounds) {
  constexpr int sums = 12;
  __m128 a[sums], b = _mm_set1_ps(0.999f), c = _mm_set1_ps(1e-4f);
  for (__m128 &sum : a)
    sum = c;
  asm volatile("" : "+x"(b), "+x"(c));
  for (int64_t i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < sums; ++j)
      a[j] = _mm_add_ps(_mm_mul_ps(a[j], b), c);
  for (int j = 1; j < sums; ++j)
    a[0] = _mm_add_ps(a[0], a[j]);
  use(a[0][0]);
  return sums * 8.0;
}

double fmas(int64_t rounds) {
  if (__builtin_cpu_supports("avx512f"))
    return fmas512(rounds);
  if (__builtin_cpu_supports("fma"))
    return fmas256(rounds);
  return fmas128(rounds);
}

void readAll(const std::vector<uint64_t> &array, int64_t begin, int64_t end) {
  uint64_t sums[8] = {};
  for (int64_t i = begin; i + 8 <= end; i += 8)
    for (int j = 0; j < 8; ++j)
      sums[j] ^= array[i + j];
  for (uint64_t sum : sums)
    asm volatile("" : : "r"(sum));
}

std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

} // namespace

Machine Machine::measure(rt::ThreadPool &pool) {
  Machine machine{processorName(), pool.threads()};
  constexpr int tries = 20; // of a few milliseconds each: one of them finds the machine to itself
  constexpr int64_t rounds = 1'000'000;
  std::vector<double> flops(pool.threads());
  std::vector<uint64_t> array((256 << 20) / sizeof(uint64_t), 1);
  for (int i = 0; i < tries; ++i) {
    double seconds = secondsOf([&] {
      pool.parallelFor(pool.threads(), [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t)
          flops[t] = fmas(rounds) * rounds;
      });
    });
    machine.fmaPeak = std::max(machine.fmaPeak, flops[0] * pool.threads() / seconds);
    seconds = secondsOf(
        [&] { pool.parallelFor(int64_t(array.size()), [&](int64_t b, int64_t e) { readAll(array, b, e); }); });
    machine.bandwidth = std::max(machine.bandwidth, double(array.size() * sizeof(uint64_t)) / seconds);
  }
  return machine;
}

std::string Machine::describe() const {
  return fmt::format("{}, {} thread{}: FMA peak {:.0f} GFLOP/s, reads {:.1f} GB/s", processor, threads,
                     threads == 1 ? "" : "s", fmaPeak / 1e9, bandwidth / 1e9);
}

nlohmann::json Machine::toJson() const {
  return {{"processor", processor}, {"threads", threads}, {"fma_peak", fmaPeak}, {"bandwidth", bandwidth}};
}

} // namespace smet::bench
