//===- Checker.h - which accesses of a kernel are wrong ---------*- C++ -*-===//
//
// Memory as a launch sees it: for every byte that was accessed, who wrote and read it last. Two accesses of one byte,
// one of them a store, are a race unless something orders them: the program order of a thread, a barrier or
// bar.warp.sync. What orders threads is kept as vector clocks (FastTrack, Flanagan and Freund, PLDI 2009): that finds a
// race whatever order the threads happened to run in. Blocks are not ordered at all.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_EMULATOR_CHECKER_H
#define SMET_RUNTIME_EMULATOR_CHECKER_H

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace smet::rt {

/// The memory behind a kernel's argument; no bytes, if that is no pointer.
struct KernelBuffer {
  const void *data = nullptr;
  int64_t bytes = 0;
};

/// A thread of a grid: its number in its block, x first, and that block's number.
struct ThreadIndex {
  int32_t block = 0, thread = -1;
  bool operator==(const ThreadIndex &) const = default;
};

/// What is wrong with an access.
struct AccessProblem {
  std::string what;       ///< "out of bounds: ...", says where in memory
  ThreadIndex other = {}; ///< the other side of a race, or nobody
  int32_t otherSite = -1;
};

class Checker {
public:
  /// The buffers are indexed by kernel argument. Blocks have `threads` threads and `sharedBytes` of shared memory.
  Checker(std::span<const KernelBuffer> buffers, int threads, int64_t sharedBytes)
      : buffers(buffers), threads(threads), sharedBytes(sharedBytes) {}

  /// A block begins: nothing is in its shared memory, none of its threads knows of another.
  void startBlock(int32_t block, const char *shared);

  struct Access {
    int thread;
    int32_t site;
    const void *address;
    int32_t bytes;
    bool isStore;
    int32_t argument = -1;
    std::span<const std::byte> stack = {}; ///< of the thread
  };
  std::optional<AccessProblem> access(const Access &access);

  /// Bytes of shared memory that a cp.async of a thread writes: from `begin` on nobody may touch them, ...
  std::optional<AccessProblem> beginCopy(const Access &destination);
  /// ... until the thread has waited.
  void endCopy(const Access &destination);

  /// Everything that these threads did comes before everything that they do from now on.
  void order(std::span<const int> threads);

private:
  struct Stamp {
    ThreadIndex who = {};
    uint32_t clock = 0;
    int32_t site = -1;
  };
  struct Cell {
    Stamp write, reads[2], copy;
    bool isInitialized = false;
  };
  static constexpr size_t pageBytes = 256;
  using Page = std::array<Cell, pageBytes>;

  bool isShared(const void *address) const;
  std::optional<AccessProblem> checkBounds(const Access &access) const;
  std::optional<AccessProblem> checkOrder(const Access &access, Cell &cell) const;
  void record(const Access &access, Cell &cell);
  Cell &cellAt(const char *address);
  bool isBefore(const Stamp &stamp, int thread) const;
  Stamp now(const Access &access) const;
  std::string describe(const Access &access) const;

  std::span<const KernelBuffer> buffers;
  int threads;
  int64_t sharedBytes;
  int32_t block = 0;
  const char *shared = nullptr;
  std::vector<uint32_t> clocks; ///< [thread][other]: how far a thread knows of another
  std::vector<Cell> sharedCells;
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_EMULATOR_CHECKER_H
