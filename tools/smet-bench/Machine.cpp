//===- Machine.cpp - what this machine can do -----------------------------===//
#include "Machine.h"

#include "Statistics.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <immintrin.h>
#include <new>
#include <span>
#include <sys/mman.h>

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

/// An array of ones on large pages, as the memory of a program is: with small ones, most of the time goes to finding
/// addresses.
class LargePages {
public:
  explicit LargePages(size_t bytes) : bytes(bytes) {
    data = static_cast<float *>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data == MAP_FAILED)
      throw std::bad_alloc();
    madvise(data, bytes, MADV_HUGEPAGE);
    std::ranges::fill(numbers(), 1);
  }
  ~LargePages() { munmap(data, bytes); }
  LargePages(const LargePages &) = delete;

  std::span<float> numbers() const { return {data, bytes / sizeof(float)}; }

private:
  size_t bytes;
  float *data;
};

/// Sums of the array, in vectors: narrower loads keep fewer lines of it under way at once.
template <typename Vector> [[gnu::always_inline]] inline void sumAll(std::span<const float> array) {
  constexpr size_t lanes = sizeof(Vector) / sizeof(float);
  Vector sums[4] = {};
  for (size_t i = 0; i + 4 * lanes <= array.size(); i += 4 * lanes)
    for (int j = 0; j < 4; ++j)
      sums[j] += *reinterpret_cast<const Vector *>(&array[i + j * lanes]);
  for (const Vector &sum : sums)
    asm volatile("" : : "m"(sum));
}

[[gnu::target("avx512f")]] void sumAll512(std::span<const float> array) { sumAll<__m512>(array); }
[[gnu::target("avx2,fma")]] void sumAll256(std::span<const float> array) { sumAll<__m256>(array); }
void sumAll128(std::span<const float> array) { sumAll<__m128>(array); }

void readAll(std::span<const float> array) {
  if (__builtin_cpu_supports("avx512f"))
    sumAll512(array);
  else if (__builtin_cpu_supports("avx2"))
    sumAll256(array);
  else
    sumAll128(array);
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
  constexpr int64_t rounds = 1'000'000, piece = 1 << 10;
  std::vector<double> flops(pool.threads());
  LargePages pages(256 << 20);
  std::span<const float> array = pages.numbers();
  for (int i = 0; i < tries; ++i) {
    double seconds = secondsOf([&] {
      pool.parallelFor(pool.threads(), [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t)
          flops[t] = fmas(rounds) * rounds;
      });
    });
    machine.fmaPeak = std::max(machine.fmaPeak, flops[0] * pool.threads() / seconds);
    seconds = secondsOf([&] {
      pool.parallelFor(int64_t(array.size() / piece),
                       [&](int64_t b, int64_t e) { readAll(array.subspan(b * piece, (e - b) * piece)); });
    });
    machine.bandwidth = std::max(machine.bandwidth, double(array.size_bytes()) / seconds);
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
