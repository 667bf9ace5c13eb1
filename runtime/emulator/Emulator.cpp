//===- Emulator.cpp - GPU kernels on the host -----------------------------===//
#include "runtime/emulator/Emulator.h"

#include "runtime/emulator/Block.h"

#include <mutex>

namespace smet::rt {
namespace {

/// What the hardware allows (CUDA C++ programming guide, compute capability 9.0).
constexpr int64_t maxSharedBytes = 227 << 10;

int64_t product(const std::array<uint32_t, 3> &sizes) { return int64_t(sizes[0]) * sizes[1] * sizes[2]; }

Status checkLaunch(const KernelLaunch &launch) {
  if (int64_t threads = product(launch.block); threads < 1 || threads > Block::maxThreads)
    return fail("kernel '{}': a block has {} threads; it can have 1 to {}", launch.name, threads, Block::maxThreads);
  if (launch.sharedBytes < 0 || launch.sharedBytes > maxSharedBytes)
    return fail("kernel '{}': a block asks for {} bytes of shared memory; it can have {}", launch.name,
                launch.sharedBytes, maxSharedBytes);
  return {};
}

/// One for each OS thread, kept: its stacks are in the cache.
Expected<Block *> blockOfThisThread() {
  thread_local std::unique_ptr<Block> block;
  if (!block) {
    auto created = Block::create();
    if (!created)
      return std::unexpected(created.error());
    block = std::move(*created);
  }
  return block.get();
}

} // namespace

Status emulate(ThreadPool &pool, const KernelLaunch &launch, const EmulatorOptions &options, KernelCounters *counters) {
  if (auto good = checkLaunch(launch); !good)
    return good;
  int64_t blocks = product(launch.grid);
  if (options.check) {
    auto block = blockOfThisThread();
    if (!block)
      return std::unexpected(block.error());
    Checker checker(launch.buffers, int(product(launch.block)), launch.sharedBytes);
    Traffic traffic;
    for (int64_t i = 0; i < blocks; ++i)
      if (auto done = (*block)->run(launch, int32_t(i), options.seed, &checker, &traffic); !done)
        return done;
    if (counters)
      *counters += traffic.counters;
    return {};
  }
  // The first error is that of the lowest block, whatever ran first.
  std::mutex mutex;
  int64_t failed = blocks;
  Error error;
  pool.parallelFor(blocks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto block = blockOfThisThread();
      Status done = block ? (*block)->run(launch, int32_t(i), options.seed, nullptr, nullptr)
                          : Status(std::unexpected(block.error()));
      if (done)
        continue;
      std::lock_guard lock(mutex);
      if (i < failed)
        std::tie(failed, error) = std::tuple(i, done.error());
    }
  });
  if (failed < blocks)
    return std::unexpected(error);
  return {};
}

} // namespace smet::rt
