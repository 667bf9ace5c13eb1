//===- ThreadPool.cpp -----------------------------------------------------===//

#include "runtime/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace smet::rt {
namespace {

/// Generated code keeps scratch tiles on the stack.
constexpr size_t stackBytes = size_t(16) << 20;

/// How often a waiting thread looks before it sleeps: some 20 microseconds, longer than the gap between two kernels
/// and too short to matter when there is nothing to do.
constexpr int spinsBeforeSleep = 400;

/// Whether this thread is inside a loop body.
thread_local bool insideLoop = false;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

} // namespace

Expected<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  int available = std::max(1, int(std::thread::hardware_concurrency()));
  if (threads < 0)
    return fail("cannot run with {} threads; give a count of at least 1, or 0 for all {} processors", threads,
                available);
  if (threads == 0)
    threads = available;
  std::unique_ptr<ThreadPool> pool(new ThreadPool());
  // With fewer processors than threads, a spinning thread keeps one from working.
  pool->spins = threads <= available ? spinsBeforeSleep : 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  int status = 0;
  for (int i = 1; i < threads && status == 0; ++i) {
    pthread_t worker;
    status = pthread_create(&worker, &attributes, workerMain, pool.get());
    if (status == 0)
      pool->workers.push_back(worker);
  }
  pthread_attr_destroy(&attributes);
  if (status != 0)
    return fail("cannot start {} threads: {}; use fewer", threads, std::strerror(status));
  return pool;
}

ThreadPool::~ThreadPool() {
  stopping.store(true);
  epoch.fetch_add(1);
  epoch.notify_all();
  for (pthread_t worker : workers)
    pthread_join(worker, nullptr);
}

void ThreadPool::parallelFor(smet_body newBody, void *newEnv, int64_t n) {
  if (n <= 0)
    return;
  std::unique_lock lock(callers, std::defer_lock);
  if (n == 1 || workers.empty() || insideLoop || !lock.try_lock())
    return newBody(newEnv, 0, n);
  body = newBody;
  env = newEnv;
  count = n;
  next.store(0, std::memory_order_relaxed);
  gate.store(open, std::memory_order_release);
  epoch.fetch_add(1, std::memory_order_release);
  epoch.notify_all();
  runItems();
  gate.fetch_and(~open, std::memory_order_acq_rel);
  waitUntilIdle();
}

void ThreadPool::runItems() {
  insideLoop = true;
  int64_t shares = 2 * int64_t(threads());
  int64_t begin = next.load(std::memory_order_relaxed);
  while (begin < count) {
    int64_t end = begin + std::max<int64_t>((count - begin) / shares, 1);
    if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed))
      continue;
    body(env, begin, end);
    begin = next.load(std::memory_order_relaxed);
  }
  insideLoop = false;
}

void *ThreadPool::workerMain(void *pool) {
  static_cast<ThreadPool *>(pool)->work();
  return nullptr;
}

void ThreadPool::work() {
  uint32_t seen = 0;
  while (true) {
    waitForJob(seen);
    if (stopping.load())
      return;
    seen = epoch.load(std::memory_order_acquire);
    if (!enter())
      continue;
    runItems();
    leave();
  }
}

bool ThreadPool::enter() {
  uint32_t state = gate.load(std::memory_order_acquire);
  while (state & open)
    if (gate.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire))
      return true;
  return false;
}

void ThreadPool::leave() {
  if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1)
    gate.notify_one(); // closed and empty: the caller may go on
}

void ThreadPool::waitForJob(uint32_t seen) {
  for (int i = 0; i < spins && epoch.load(std::memory_order_acquire) == seen; ++i)
    pause();
  epoch.wait(seen, std::memory_order_acquire);
}

void ThreadPool::waitUntilIdle() {
  for (int i = 0; i < spins && gate.load(std::memory_order_acquire) != 0; ++i)
    pause();
  while (uint32_t state = gate.load(std::memory_order_acquire))
    gate.wait(state, std::memory_order_acquire);
}

} // namespace smet::rt
