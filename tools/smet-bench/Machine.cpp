//===- Machine.cpp - what this machine can do -----------------------------===//
#include "Machine.h"

#include "Statistics.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <immintrin.h>

namespace smet::bench {
namespace {

/// `rounds` of enough independent multiply-adds for two FMA units of a latency of four or five. Returns the FLOPs of a
/// round. The callers' targets decide the instructions.
template <typename Vector, int sums> [[gnu::always_inline]] inline double multiplyAdd(int64_t rounds) {
  Vector a[sums], b = {}, c = {};
  b += 0.999f;
  c += 1e-4f;
  asm volatile("" : "+m"(b), "+m"(c)); // their values are not known
  for (Vector &sum : a)
    sum = c;
  for (int64_t i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < sums; ++j)
      a[j] = a[j] * b + c;
  for (int j = 1; j < sums; ++j)
    a[0] += a[j];
  asm volatile("" : : "m"(a[0])); // used; in a register it would be one of the first sixteen, and so would the others
  return 2.0 * sums * (sizeof(Vector) / sizeof(float));
}

[[gnu::target("avx512f")]] double fmas512(int64_t rounds) { return multiplyAdd<__m512, 20>(rounds); }
[[gnu::target("avx2,fma")]] double fmas256(int64_t rounds) { return multiplyAdd<__m256, 12>(rounds); }
double fmas128(int64_t rounds) { return multiplyAdd<__m128, 12>(rounds); }

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
