//===- EmulatorTest.cpp - kernels written by hand, right and wrong --------===//
//
// What a thread executes is plain C++ here, as the compiler would write it. Results are held against plain loops; every
// kind of bug is planted once and must be reported.
//
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Emulator.h"
#include "runtime/cpu/BF16.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace smet::rt;
using testing::HasSubstr;

namespace {

/// Sites of the kernels below.
enum Site : int32_t { first, second, third };
constexpr const char *locations[] = {"k.mlir:1", "k.mlir:2", "k.mlir:3"};

class Emulator : public testing::Test {
protected:
  void SetUp() override {
    auto created = ThreadPool::create(2);
    ASSERT_TRUE(created) << created.error().message;
    pool = std::move(*created);
  }

  template <typename T> void argument(std::vector<T> &array) {
    pointers.push_back(array.data());
    buffers.push_back({array.data(), int64_t(array.size() * sizeof(T))});
  }

  Status run(smet_emulated_kernel kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
             EmulatorOptions options = {}, KernelCounters *counters = nullptr) {
    std::vector<void *> arguments;
    for (void *&pointer : pointers)
      arguments.push_back(&pointer);
    KernelLaunch launch{"k", kernel, grid, block, sharedBytes, arguments, buffers, locations};
    return emulate(*pool, launch, options, counters);
  }

  /// In order, in three random orders, and checked in each of them.
  void runAllWays(smet_emulated_kernel kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                  auto &&verify) {
    for (bool check : {false, true})
      for (std::optional<uint64_t> seed : std::initializer_list<std::optional<uint64_t>>{std::nullopt, 1, 2, 3}) {
        auto done = run(kernel, grid, block, {check, seed});
        ASSERT_TRUE(done) << done.error().message;
        verify();
      }
  }

  std::string problemOf(smet_emulated_kernel kernel, std::array<uint32_t, 3> block = {64, 1, 1},
                        std::array<uint32_t, 3> grid = {1, 1, 1}) {
    auto done = run(kernel, grid, block, {.check = true});
    return done ? "no problem" : done.error().message;
  }

  std::unique_ptr<ThreadPool> pool;
  std::vector<void *> pointers;
  std::vector<KernelBuffer> buffers;
  int64_t sharedBytes = 1024;
};

template <typename T> T *pointerAt(void *const *arguments, int i) { return *static_cast<T *const *>(arguments[i]); }

/// Loads and stores as an instrumented kernel makes them.
template <typename T> T load(smet_emulator *e, int32_t site, const T *p, int argument = -1) {
  e->access(e, site, p, sizeof(T), SMET_ACCESS_LOAD, argument);
  return *p;
}
template <typename T> void store(smet_emulator *e, int32_t site, T *p, T value, int argument = -1) {
  e->access(e, site, p, sizeof(T), SMET_ACCESS_STORE, argument);
  *p = value;
}
float *sharedFloats(smet_emulator *e) { return reinterpret_cast<float *>(e->shared); }

float shuffleXor(smet_emulator *e, float value, uint32_t by) {
  auto bits = uint32_t(e->shuffle(e, first, SMET_SHUFFLE_XOR, ~0u, std::bit_cast<uint32_t>(value), by, 31));
  return std::bit_cast<float>(bits);
}

//===----------------------------------------------------------------------===//
// Kernels that are right
//===----------------------------------------------------------------------===//

TEST_F(Emulator, ThreadsKnowTheirPlace) {
  std::vector<uint32_t> seen(2 * 3 * 2 * 4 * 3 * 2, 0);
  argument(seen);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    uint32_t block = (e->block[2] * e->grid_size[1] + e->block[1]) * e->grid_size[0] + e->block[0];
    uint32_t thread = (e->thread[2] * e->block_size[1] + e->thread[1]) * e->block_size[0] + e->thread[0];
    pointerAt<uint32_t>(arguments, 0)[block * 24 + thread] = block * 100 + thread;
  };
  ASSERT_TRUE(run(kernel, {2, 3, 2}, {4, 3, 2}));
  for (uint32_t block = 0; block < 12; ++block)
    for (uint32_t thread = 0; thread < 24; ++thread)
      EXPECT_EQ(seen[block * 24 + thread], block * 100 + thread);
}

TEST_F(Emulator, SumsByShufflesAndSharedMemory) {
  std::vector<float> x(4 * 64), y(4);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i * 7 % 31) - 11;
  argument(x);
  argument(y);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    uint32_t t = e->thread[0];
    float sum = load(e, first, pointerAt<float>(arguments, 0) + e->block[0] * 64 + t, 0);
    for (uint32_t by : {16, 8, 4, 2, 1})
      sum += shuffleXor(e, sum, by);
    if (t % 32 == 0)
      store(e, first, sharedFloats(e) + t / 32, sum);
    e->barrier(e, first, 0, 0);
    if (t == 0)
      store(e, second, pointerAt<float>(arguments, 1) + e->block[0],
            load(e, second, sharedFloats(e)) + load(e, second, sharedFloats(e) + 1), 1);
  };
  runAllWays(kernel, {4, 1, 1}, {64, 1, 1}, [&] {
    for (int block = 0; block < 4; ++block) {
      float sum = 0; // of whole numbers: exact in any order
      for (int i = 0; i < 64; ++i)
        sum += x[block * 64 + i];
      EXPECT_EQ(y[block], sum);
    }
  });
}

TEST_F(Emulator, ShufflesAreThoseOfThePtxManual) {
  std::vector<uint32_t> out(32 * 4);
  argument(out);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    uint32_t t = e->thread[0];
    uint32_t *out = pointerAt<uint32_t>(arguments, 0);
    auto shuffle = [&](int mode, uint32_t lane, uint32_t clamp) {
      uint64_t r = e->shuffle(e, first, mode, ~0u, t, lane, clamp);
      return uint32_t(r) | uint32_t(r >> 32) << 8;
    };
    out[t] = shuffle(SMET_SHUFFLE_UP, 3, 0);
    out[32 + t] = shuffle(SMET_SHUFFLE_DOWN, 5, 31);
    out[64 + t] = shuffle(SMET_SHUFFLE_INDEX, 9, 31);
    // Segments of eight lanes: (32 - 8) << 8 | 7.
    out[96 + t] = shuffle(SMET_SHUFFLE_INDEX, 2, 24 << 8 | 7);
  };
  runAllWays(kernel, {1, 1, 1}, {32, 1, 1}, [&] {
    for (uint32_t t = 0; t < 32; ++t) {
      EXPECT_EQ(out[t], t >= 3 ? (t - 3) | 256 : t);
      EXPECT_EQ(out[32 + t], t + 5 < 32 ? (t + 5) | 256 : t);
      EXPECT_EQ(out[64 + t], 9u | 256);
      EXPECT_EQ(out[96 + t], t / 8 * 8 + 2 | 256);
    }
  });
}

/// c = a b of 16 x 16 and 16 x 8, fragments loaded by ldmatrix (of b transposed) from shared memory.
TEST_F(Emulator, MultipliesFragments) {
  std::vector<uint16_t> a(256), b(128);
  std::vector<float> c(128);
  for (int i = 0; i < 256; ++i)
    a[i] = BF16(float(i * 37 % 101 - 50) / 64).bits;
  for (int i = 0; i < 128; ++i)
    b[i] = BF16(float(i * 53 % 97 - 40) / 64).bits;
  argument(a);
  argument(b);
  argument(c);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    uint32_t t = e->thread[0];
    auto *shared = reinterpret_cast<uint16_t *>(e->shared); // a: 16 rows of 16; b behind it: 16 rows of 8
    for (uint32_t i = t; i < 256; i += 32)
      store(e, first, shared + i, load(e, first, pointerAt<uint16_t>(arguments, 0) + i, 0));
    for (uint32_t i = t; i < 128; i += 32)
      store(e, second, shared + 256 + i, load(e, second, pointerAt<uint16_t>(arguments, 1) + i, 1));
    e->warp_sync(e, first, ~0u);
    uint32_t fa[4], fb[2];
    // Matrices of a: rows 0..7, rows 8..15, then the same of the other eight columns.
    e->ldmatrix(e, first, 4, 0, shared + (t % 16) * 16 + t / 16 * 8, fa);
    e->ldmatrix(e, second, 2, 1, shared + 256 + (t % 16) * 8, fb);
    float zero[4] = {}, sums[4];
    e->mma_m16n8k16_bf16(e, third, fa, fb, zero, sums);
    float *c = pointerAt<float>(arguments, 2);
    for (int i = 0; i < 4; ++i)
      store(e, third, c + (t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2, sums[i], 2);
  };
  runAllWays(kernel, {1, 1, 1}, {32, 1, 1}, [&] {
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        float sum = 0; // exact: products of few bits
        for (int k = 0; k < 16; ++k) {
          BF16 x, y;
          x.bits = a[i * 16 + k];
          y.bits = b[k * 8 + j];
          sum += float(x) * float(y);
        }
        EXPECT_EQ(c[i * 8 + j], sum);
      }
  });
}

/// y = 2 x through shared memory, two stages of copies ahead.
void pipelined(smet_emulator *e, void *const *arguments, bool waits, bool synchronizes) {
  uint32_t t = e->thread[0];
  float *x = pointerAt<float>(arguments, 0), *y = pointerAt<float>(arguments, 1), *stage = sharedFloats(e);
  auto fetch = [&](uint32_t i) {
    if (i < 6)
      e->cp_async(e, first, stage + i % 3 * 64 + t, x + i * 64 + t, 4, i == 5 && t >= 32 ? 0 : 4);
    e->cp_async_commit(e, first);
  };
  fetch(0);
  fetch(1);
  for (uint32_t i = 0; i < 6; ++i) {
    fetch(i + 2);
    if (waits)
      e->cp_async_wait(e, second, 2);
    if (synchronizes)
      e->barrier(e, second, 0, 0);
    // Another thread's number: waiting for one's own copies is not enough.
    store(e, third, y + i * 64 + t, 2 * load(e, third, stage + i % 3 * 64 + (63 - t)), 1);
    e->barrier(e, third, 0, 0);
  }
}

TEST_F(Emulator, CopiesAhead) {
  std::vector<float> x(6 * 64), y(6 * 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i + 1);
  argument(x);
  argument(y);
  runAllWays([](smet_emulator *e, void *const *arguments) { pipelined(e, arguments, true, true); }, {1, 1, 1},
             {64, 1, 1},
             [&] {
               for (int i = 0; i < 6; ++i)
                 for (int t = 0; t < 64; ++t)
                   EXPECT_EQ(y[i * 64 + t], i == 5 && t < 32 ? 0 : 2 * x[i * 64 + 63 - t]) << i << " " << t;
             });
}

TEST_F(Emulator, BarriersOfSomeThreads) {
  std::vector<float> y(64);
  argument(y);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    uint32_t t = e->thread[0], half = t / 32;
    store(e, first, sharedFloats(e) + t, float(t));
    e->barrier(e, int32_t(half), int32_t(half) + 1, 32);
    store(e, second, pointerAt<float>(arguments, 0) + t, load(e, second, sharedFloats(e) + half * 32 + (t + 1) % 32),
          0);
  };
  runAllWays(kernel, {1, 1, 1}, {64, 1, 1}, [&] {
    for (int t = 0; t < 64; ++t)
      EXPECT_EQ(y[t], float(t / 32 * 32 + (t + 1) % 32));
  });
}

//===----------------------------------------------------------------------===//
// Kernels that are wrong
//===----------------------------------------------------------------------===//

TEST_F(Emulator, ReportsAMissingBarrier) {
  auto kernel = [](smet_emulator *e, void *const *) {
    uint32_t t = e->thread[0];
    store(e, first, sharedFloats(e) + t, float(t));
    load(e, second, sharedFloats(e) + (t + 1) % 64);
  };
  // In order, thread 0 reads what thread 1 has not written yet.
  EXPECT_THAT(problemOf(kernel), HasSubstr("shared memory that nothing was stored to"));
  auto later = [](smet_emulator *e, void *const *) {
    uint32_t t = e->thread[0];
    store(e, first, sharedFloats(e) + t, float(t));
    e->barrier(e, third, 0, 0);
    load(e, second, sharedFloats(e) + (t + 1) % 64);
    store(e, first, sharedFloats(e) + t, float(t));
  };
  EXPECT_THAT(problemOf(later),
              testing::AllOf(HasSubstr("kernel 'k'"), HasSubstr("block (0, 0, 0) thread (0, 0, 0), k.mlir:1"),
                             HasSubstr("race with a load"), HasSubstr("thread (63, 0, 0), k.mlir:2")));
}

TEST_F(Emulator, ShufflesDoNotOrderMemory) {
  auto kernel = [](smet_emulator *e, void *const *) {
    uint32_t t = e->thread[0];
    store(e, first, sharedFloats(e) + t, float(t));
    shuffleXor(e, 0, 1);
    load(e, second, sharedFloats(e) + (t ^ 1));
  };
  EXPECT_THAT(problemOf(kernel, {32, 1, 1}), HasSubstr("race with a store"));
}

TEST_F(Emulator, BarriersOfOthersDoNotOrder) {
  auto kernel = [](smet_emulator *e, void *const *) {
    uint32_t t = e->thread[0], half = t / 32;
    store(e, first, sharedFloats(e) + t, float(t));
    e->barrier(e, third, int32_t(half) + 1, 32);
    load(e, second, sharedFloats(e) + (t + 32) % 64);
  };
  std::string problem = problemOf(kernel);
  EXPECT_TRUE(problem.contains("race with a store") || problem.contains("nothing was stored")) << problem;
}

TEST_F(Emulator, ReportsARaceBetweenBlocks) {
  std::vector<float> y(1);
  argument(y);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    if (e->thread[0] == 0)
      store(e, first, pointerAt<float>(arguments, 0), float(e->block[0]), 0);
  };
  EXPECT_THAT(problemOf(kernel, {32, 1, 1}, {2, 1, 1}),
              testing::AllOf(HasSubstr("block (1, 0, 0)"), HasSubstr("race with a store"),
                             HasSubstr("byte 0 of argument 0, which has 4"), HasSubstr("block (0, 0, 0)")));
}

TEST_F(Emulator, ReportsAMissingWait) {
  std::vector<float> x(6 * 64, 1), y(6 * 64);
  argument(x);
  argument(y);
  auto noWait = [](smet_emulator *e, void *const *arguments) { pipelined(e, arguments, false, true); };
  EXPECT_THAT(problemOf(noWait), HasSubstr("missing wait for an asynchronous copy"));
  // Unchecked, the numbers are not there yet.
  ASSERT_TRUE(run(noWait, {1, 1, 1}, {64, 1, 1}));
  EXPECT_NE(y[0], 2);
  auto noBarrier = [](smet_emulator *e, void *const *arguments) { pipelined(e, arguments, true, false); };
  EXPECT_THAT(problemOf(noBarrier), testing::AnyOf(HasSubstr("missing wait"), HasSubstr("nothing was stored")));
}

TEST_F(Emulator, ReportsWhatIsOutOfBounds) {
  std::vector<float> x(64);
  argument(x);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    load(e, second, pointerAt<float>(arguments, 0) + e->thread[0] + 1, 0);
  };
  EXPECT_THAT(problemOf(kernel), testing::AllOf(HasSubstr("thread (63, 0, 0), k.mlir:2"),
                                                HasSubstr("out of bounds: load of 4 bytes at byte 256 of argument 0")));
  auto shared = [](smet_emulator *e, void *const *) { store(e, first, sharedFloats(e) + 256, 0.f); };
  EXPECT_THAT(problemOf(shared), HasSubstr("byte 1024 of shared memory, which has 1024"));
  auto wide = [](smet_emulator *e, void *const *arguments) {
    e->access(e, first, pointerAt<float>(arguments, 0) + 1, 16, SMET_ACCESS_LOAD, 0);
  };
  EXPECT_THAT(problemOf(wide), HasSubstr("misaligned: load of 16 bytes"));
  auto own = [](smet_emulator *e, void *const *) {
    float local = 1;
    store(e, first, &local, load(e, first, &local));
  };
  EXPECT_EQ(problemOf(own), "no problem");
}

TEST_F(Emulator, ReportsDivergentBarriers) {
  auto some = [](smet_emulator *e, void *const *) {
    if (e->thread[0] < 40)
      e->barrier(e, first, 0, 0);
  };
  EXPECT_THAT(problemOf(some), HasSubstr("24 have ended; 40 wait at barrier 0, k.mlir:1"));
  auto two = [](smet_emulator *e, void *const *) { e->barrier(e, e->thread[0] < 40 ? first : second, 0, 0); };
  EXPECT_THAT(problemOf(two), HasSubstr("divergent barrier"));
  auto shuffle = [](smet_emulator *e, void *const *) {
    if (e->thread[0] < 40)
      shuffleXor(e, 1, 1);
  };
  EXPECT_THAT(problemOf(shuffle), HasSubstr("8 wait for their warp, k.mlir:1"));
  // The next launch is not disturbed by threads that never ended.
  EXPECT_EQ(problemOf([](smet_emulator *e, void *const *) { e->barrier(e, first, 0, 0); }), "no problem");
}

TEST_F(Emulator, RefusesWhatTheHardwareCannot) {
  auto nothing = [](smet_emulator *, void *const *) {};
  EXPECT_THAT(problemOf(nothing, {1025, 1, 1}), HasSubstr("a block has 1025 threads"));
  sharedBytes = 256 << 10;
  EXPECT_THAT(problemOf(nothing), HasSubstr("bytes of shared memory; it can have 232448"));
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

TEST_F(Emulator, CountsSectorsAndBanks) {
  struct alignas(32) Sector {
    float numbers[8];
  };
  std::vector<Sector> x(4 * 32), y(4);
  argument(x);
  argument(y);
  auto kernel = [](smet_emulator *e, void *const *arguments) {
    uint32_t t = e->thread[0];
    float *x = pointerAt<float>(arguments, 0);
    float sum = load(e, first, x + t, 0) + load(e, second, x + t * 32, 0); // four sectors; thirty-two
    store(e, third, pointerAt<float>(arguments, 1) + t, sum, 1);
  };
  KernelCounters counters;
  ASSERT_TRUE(run(kernel, {1, 1, 1}, {32, 1, 1}, {.check = true}, &counters));
  EXPECT_EQ(counters.globalLoadBytes, 256);
  EXPECT_EQ(counters.globalLoadSectors, 4 + 32);
  EXPECT_EQ(counters.globalStoreSectors, 4);
  auto banks = [](smet_emulator *e, void *const *) {
    uint32_t t = e->thread[0];
    store(e, first, sharedFloats(e) + t, 0.f);                // one pass
    store(e, second, sharedFloats(e) + 32 + t * 2 % 64, 0.f); // two lanes a bank
  };
  sharedBytes = 4096;
  counters = {};
  ASSERT_TRUE(run(banks, {1, 1, 1}, {32, 1, 1}, {.check = true}, &counters));
  EXPECT_EQ(counters.sharedPasses, 1 + 2);
  EXPECT_EQ(counters.sharedConflicts, 1);
}

} // namespace
