//===- Machine.cpp - what this machine can do -----------------------------===//
#include "Machine.h"

#include "Statistics.h"

#include <fmt/format.h>

#include <fstream>
#include <immintrin.h>
#include <limits>
#include <new>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

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

/// Bytes of memory that programs can still have.
size_t availableBytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("MemAvailable:"))
      return std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10) << 10;
  return size_t(sysconf(_SC_AVPHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE));
}

/// Of an array that hardly any of stays in the last cache: four times its size, but no more than a quarter of the
/// memory. Not every system says how large the cache is. Both halves begin on a large page.
size_t arrayBytes() {
  constexpr long leastCache = long(64) << 20;
  constexpr size_t pages = size_t(4) << 20;
  size_t wanted = std::min(4 * size_t(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), leastCache)), availableBytes() / 4);
  return std::max(wanted / pages, size_t(1)) * pages;
}

/// An array on large pages, as the memory of a program is: with small ones, most of the time goes to finding addresses.
class LargePages {
public:
  explicit LargePages(size_t bytes) : bytes(bytes) {
    data = static_cast<float *>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data == MAP_FAILED)
      throw std::bad_alloc();
    madvise(data, bytes, MADV_HUGEPAGE);
  }
  ~LargePages() { munmap(data, bytes); }
  LargePages(const LargePages &) = delete;

  std::span<float> numbers() const { return {data, bytes / sizeof(float)}; }

private:
  size_t bytes;
  float *data;
};

// The streams take whole vectors: narrower ones keep fewer lines of memory under way at once.

/// The sum of x, from several places at once, since the processor fetches ahead within a page only.
template <typename Vector> [[gnu::always_inline]] inline void sumAll(std::span<const float> x) {
  constexpr size_t places = 8, lanes = sizeof(Vector) / sizeof(float);
  Vector sums[places] = {};
  for (size_t i = 0, part = x.size() / places; i + lanes <= part; i += lanes)
    for (size_t j = 0; j < places; ++j)
      sums[j] += *reinterpret_cast<const Vector *>(&x[j * part + i]);
  for (const Vector &sum : sums)
    asm volatile("" : : "m"(sum));
}

/// y = a x + y.
template <typename Vector> [[gnu::always_inline]] inline void addScaled(std::span<const float> x, std::span<float> y) {
  constexpr size_t lanes = sizeof(Vector) / sizeof(float);
  for (size_t i = 0; i + lanes <= x.size(); i += lanes) {
    auto &sum = *reinterpret_cast<Vector *>(&y[i]);
    sum = 0.5f * *reinterpret_cast<const Vector *>(&x[i]) + sum;
  }
}

[[gnu::target("avx512f")]] void sum512(std::span<const float> x) { sumAll<__m512>(x); }
[[gnu::target("avx2,fma")]] void sum256(std::span<const float> x) { sumAll<__m256>(x); }
void sum128(std::span<const float> x) { sumAll<__m128>(x); }
[[gnu::target("avx512f")]] void add512(std::span<const float> x, std::span<float> y) { addScaled<__m512>(x, y); }
[[gnu::target("avx2,fma")]] void add256(std::span<const float> x, std::span<float> y) { addScaled<__m256>(x, y); }
void add128(std::span<const float> x, std::span<float> y) { addScaled<__m128>(x, y); }

void read(std::span<const float> x) {
  if (__builtin_cpu_supports("avx512f"))
    return sum512(x);
  __builtin_cpu_supports("fma") ? sum256(x) : sum128(x);
}

void update(std::span<const float> x, std::span<float> y) {
  if (__builtin_cpu_supports("avx512f"))
    return add512(x, y);
  __builtin_cpu_supports("fma") ? add256(x, y) : add128(x, y);
}

std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

} // namespace

/// The greatest rate of some tries, one of which finds the machine to itself: amount / seconds of body().
static double greatestRate(int tries, double amount, auto &&body) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tries; ++i)
    least = std::min(least, secondsOf(body));
  return amount / least;
}

Machine Machine::measure(rt::ThreadPool &pool) {
  Machine machine{processorName(), pool.threads()};
  constexpr int64_t rounds = 1'000'000;
  double flops = fmas(1) * rounds * pool.threads();
  machine.fmaPeak = greatestRate(20, flops, [&] { // of a few milliseconds each
    pool.parallelFor(pool.threads(), [](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        fmas(rounds);
    });
  });

  LargePages pages(arrayBytes());
  std::span<float> all = pages.numbers(), x = all.first(all.size() / 2), y = all.subspan(all.size() / 2, x.size());
  constexpr int64_t piece = 1 << 16; // floats
  auto inPieces = [&](std::span<float> array, auto &&body) {
    pool.parallelFor(int64_t(array.size()) / piece,
                     [&](int64_t begin, int64_t end) { body(size_t(begin * piece), size_t((end - begin) * piece)); });
  };
  inPieces(all, [&](size_t begin, size_t count) { std::ranges::fill(all.subspan(begin, count), 1); });
  constexpr int tries = 8; // of some tens of milliseconds each
  machine.readBandwidth = greatestRate(tries, double(all.size_bytes()), [&] {
    inPieces(all, [&](size_t begin, size_t count) { read(all.subspan(begin, count)); });
  });
  machine.updateBandwidth = greatestRate(tries, 3.0 * double(x.size_bytes()), [&] {
    inPieces(x, [&](size_t begin, size_t count) { update(x.subspan(begin, count), y.subspan(begin, count)); });
  });
  return machine;
}

std::string Machine::describe() const {
  return fmt::format("{}, {} thread{}: FMA peak {:.0f} GFLOP/s, reads {:.1f} GB/s, reads and writes {:.1f} GB/s",
                     processor, threads, threads == 1 ? "" : "s", fmaPeak / 1e9, readBandwidth / 1e9,
                     updateBandwidth / 1e9);
}

nlohmann::json Machine::toJson() const {
  return {{"processor", processor},
          {"threads", threads},
          {"fma_peak", fmaPeak},
          {"read_bandwidth", readBandwidth},
          {"update_bandwidth", updateBandwidth}};
}

} // namespace smet::bench
