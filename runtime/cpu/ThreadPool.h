//===- ThreadPool.h - persistent workers and parallel loops -----*- C++ -*-===//
//
// The threads of the CPU target. Results never depend on how a loop is split: bodies write disjoint data.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CPU_THREADPOOL_H
#define SMET_RUNTIME_CPU_THREADPOOL_H

#include "runtime/program/Abi.h"
#include "runtime/support/Error.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace smet::rt {

class ThreadPool {
public:
  /// `threads` counts the caller; 0 means as many as this process may use.
  static Expected<std::unique_ptr<ThreadPool>> create(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  int threads() const { return int(workers.size()) + 1; }

  /// Runs body over [0, n) and returns when all of it is done. Work items are handed out dynamically, many at a time
  /// at first and fewer towards the end. Called from inside a loop, or while another thread's loop runs, it runs
  /// everything on the calling thread.
  void parallelFor(smet_body body, void *env, int64_t n);

  /// The same for a callable (begin, end).
  template <typename Body> void parallelFor(int64_t n, Body &&body) {
    parallelFor(
        [](void *env, int64_t begin, int64_t end) { (*static_cast<std::remove_reference_t<Body> *>(env))(begin, end); },
        &body, n);
  }

private:
  ThreadPool() = default;
  static void *workerMain(void *pool);
  void work();
  void runItems();
  bool enter();
  void leave();
  void waitForJob(uint32_t seen);
  void waitUntilIdle();

  /// The job: written while the gate is closed and nobody is inside.
  smet_body body = nullptr;
  void *env = nullptr;
  int64_t count = 0;
  alignas(64) std::atomic<int64_t> next = 0;

  /// How many workers are inside the job, and whether more may enter. A worker that wakes late finds the gate closed,
  /// so the caller never waits for sleepers.
  static constexpr uint32_t open = 1u << 31;
  alignas(64) std::atomic<uint32_t> gate = 0;
  /// Counts jobs; workers sleep on it.
  alignas(64) std::atomic<uint32_t> epoch = 0;
  std::atomic<bool> stopping = false;

  std::mutex callers;
  std::vector<pthread_t> workers;
  int spins = 0;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_THREADPOOL_H
