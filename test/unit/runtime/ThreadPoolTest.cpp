//===- ThreadPoolTest.cpp -------------------------------------------------===//

#include "runtime/cpu/Context.h"
#include "runtime/program/Abi.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

using namespace smet::rt;

namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {
protected:
  std::unique_ptr<ThreadPool> pool = ThreadPool::create(GetParam()).value();
};

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 8));

} // namespace

TEST_P(ThreadPoolTest, EveryItemRunsOnce) {
  EXPECT_EQ(pool->threads(), GetParam());
  for (int64_t n : {0, 1, 2, 7, 100, 4097}) {
    std::vector<int> hits(n);
    pool->parallelFor(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        ++hits[i];
    });
    EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), n);
  }
}

TEST_P(ThreadPoolTest, ResultsOfOneLoopAreSeenByTheNext) {
  std::vector<int64_t> values(1000);
  for (int round = 0; round < 2000; ++round)
    pool->parallelFor(1000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        values[999 - i] += i;
    });
  int64_t sum = std::accumulate(values.begin(), values.end(), int64_t(0));
  EXPECT_EQ(sum, 2000 * int64_t(999) * 1000 / 2);
}

TEST_P(ThreadPoolTest, NestedLoopsRunInline) {
  std::vector<int> hits(50 * 20);
  pool->parallelFor(50, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto outer = std::this_thread::get_id();
      pool->parallelFor(20, [&, i](int64_t from, int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        for (int64_t j = from; j < to; ++j)
          ++hits[i * 20 + j];
      });
    }
  });
  EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), 1000);
}

TEST_P(ThreadPoolTest, TwoCallersShareThePool) {
  auto sum = [&] {
    int64_t total = 0;
    for (int round = 0; round < 200; ++round) {
      std::atomic<int64_t> part = 0;
      pool->parallelFor(100, [&](int64_t begin, int64_t end) { part += end - begin; });
      total += part;
    }
    return total;
  };
  int64_t other = 0;
  std::thread caller([&] { other = sum(); });
  EXPECT_EQ(sum(), 20000);
  caller.join();
  EXPECT_EQ(other, 20000);
}

TEST_P(ThreadPoolTest, StackHoldsScratchTiles) {
  pool->parallelFor(8, [](int64_t begin, int64_t end) {
    volatile char tile[4 << 20];
    for (size_t i = 0; i < sizeof(tile); i += 4096)
      tile[i] = 1;
    EXPECT_EQ(tile[4096], 1);
  });
}

TEST_P(ThreadPoolTest, SlowItemsAreShared) {
  if (GetParam() == 1)
    return;
  std::mutex mutex;
  std::vector<std::thread::id> ids;
  pool->parallelFor(16, [&](int64_t begin, int64_t end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * (end - begin)));
    std::lock_guard lock(mutex);
    ids.push_back(std::this_thread::get_id());
  });
  std::sort(ids.begin(), ids.end());
  EXPECT_GT(std::unique(ids.begin(), ids.end()) - ids.begin(), 1);
}

TEST(ThreadPool, CountIsChecked) {
  EXPECT_GE((*ThreadPool::create(0))->threads(), 1);
  auto negative = ThreadPool::create(-2);
  ASSERT_FALSE(negative);
  EXPECT_NE(negative.error().message.find("-2 threads"), std::string::npos);
}

// A pool of one runs a loop in one piece, others in several.
struct CountingDevice : Device {
  int launches = 0;
  Status launch(const smet_kernel &kernel, const smet_launch &, ThreadPool &) override {
    return ++launches < 3 ? Status() : fail("'{}' failed", kernel.name);
  }
};

TEST(ContextTest, LaunchesAfterAFailedOneDoNothing) {
  auto pool = ThreadPool::create(1).value();
  auto context = Context::create(*pool).value();
  smet_kernel kernel = {};
  kernel.name = "k";
  smet_launch launch = {};
  auto launchAll = [&](int count) {
    for (int i = 0; i < count; ++i)
      context->abi()->launch(context->abi(), &kernel, &launch);
  };
  CountingDevice device;
  context->setDevice(&device);
  launchAll(2);
  EXPECT_FALSE(context->takeFailure());
  launchAll(3);
  EXPECT_EQ(device.launches, 3);
  EXPECT_EQ(context->message(), "'k' failed");
  EXPECT_TRUE(context->takeFailure());
  EXPECT_FALSE(context->takeFailure());

  context->setDevice(nullptr);
  launchAll(1);
  EXPECT_TRUE(context->takeFailure());
  EXPECT_EQ(context->message(), "kernel 'k' is for a GPU, and there is none");
}

TEST(ContextTest, RunsOnThePoolOfTheMoment) {
  auto one = ThreadPool::create(1).value(), two = ThreadPool::create(2).value();
  auto context = Context::create(*two).value();
  auto pieces = [&] {
    std::atomic<int> count = 0;
    auto body = [](void *env, int64_t, int64_t) { ++*static_cast<std::atomic<int> *>(env); };
    context->abi()->parallel_for(context->abi(), body, &count, 100);
    return count.load();
  };
  EXPECT_GT(pieces(), 1);
  EXPECT_EQ(&context->exchangePool(*one), two.get());
  EXPECT_EQ(pieces(), 1);
  EXPECT_EQ(&context->exchangePool(*two), one.get());
  EXPECT_GT(pieces(), 1);
}
