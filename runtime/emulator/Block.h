//===- Block.h - the threads of one emulated block --------------*- C++ -*-===//
//
// Runs a kernel for every thread of a block, each on a fiber, on one OS thread. A thread runs until it meets others: at
// a barrier, or in an instruction of its warp, which happens when the last lane arrives. Which thread runs next is in
// order or drawn, and asynchronous copies happen at the wait for them or, drawn, at any time before: a result that
// depends on either is a bug of the kernel.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_EMULATOR_BLOCK_H
#define SMET_RUNTIME_EMULATOR_BLOCK_H

#include "runtime/emulator/Checker.h"
#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Fiber.h"
#include "runtime/emulator/Traffic.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <random>

namespace smet::rt {

class Block : private smet_emulator {
public:
  static constexpr int maxThreads = 1024, warpLanes = 32;

  static Expected<std::unique_ptr<Block>> create();
  ~Block();

  /// Runs block number `index` of a launch, whose accesses are checked and counted if there is a checker.
  Status run(const KernelLaunch &launch, int32_t index, std::optional<uint64_t> seed, Checker *checker,
             Traffic *traffic);

private:
  /// A copy that was asked for.
  struct Copy {
    char *to;
    const char *from;
    int32_t bytes, valid, site, group;
    bool isDone = false;
  };
  /// An instruction that lanes of a warp execute together, as one of them sees it.
  struct WarpOp {
    enum Kind { Sync, Shuffle, Mma, LoadMatrix } kind;
    uint32_t mask = ~0u;
    int32_t mode = 0; ///< shuffle: its mode; ldmatrix: matrices
    bool transposed = false;
    uint32_t value = 0, lane = 0, clamp = 0;
    uint64_t result = 0;
    const uint32_t *a = nullptr, *b = nullptr;
    const float *c = nullptr;
    float *d = nullptr;
    const char *row = nullptr;
    uint32_t *fragment = nullptr;
  };
  enum class State : uint8_t { Ready, AtBarrier, InWarp, Done };
  struct Thread {
    Fiber fiber;
    State state = State::Ready;
    int32_t site = -1;                       ///< where it waits
    int32_t barrier = 0, barrierThreads = 0; ///< which one, for how many
    WarpOp *op = nullptr;
    std::deque<Copy> copies;     ///< in the order in which they were asked for
    int32_t group = 0;           ///< that copies join
    std::vector<uint32_t> turns; ///< per site: how often it was executed
  };

  Block() = default;
  static void runThread(void *block);
  void schedule();
  void enter(int thread);
  void wait(State state, int32_t site);

  void meet(WarpOp op, int32_t site, uint64_t *result = nullptr);
  void perform(int firstLane, uint32_t mask, int32_t site);
  void shuffleLanes(int firstLane, uint32_t mask, int32_t site);
  void multiply(int firstLane);
  void loadMatrices(int firstLane, int32_t site);
  void arrive(int32_t site, int32_t id, int32_t count);

  void askForCopy(const Copy &asked);
  static Checker::Access destination(int thread, const Copy &copy);
  static void copyNow(Copy &copy);
  void finishCopies(int32_t group);
  void finishSomeCopies();

  void checkAccess(int thread, int32_t site, const void *address, int32_t bytes, bool isStore, int32_t argument = -1);
  void countAccess(const Checker::Access &access);
  void note(int thread, int32_t site, const std::string &what);
  bool hasProblem(const std::optional<AccessProblem> &wrong, int thread, int32_t site);
  [[noreturn]] void abandon();
  std::string nameOf(ThreadIndex index) const;
  std::string location(int32_t site) const;
  std::string describeWaiting() const;

  int lanesOf(int firstLane) const { return std::min(warpLanes, count - firstLane); }

  std::unique_ptr<char, void (*)(void *)> sharedMemory{nullptr, std::free};
  std::optional<FiberStacks> stacks;
  std::vector<Thread> threads;
  std::vector<int> order, group;               ///< in which threads are tried; that meet now
  std::map<int32_t, std::vector<int>> waiting; ///< at each barrier, in the order in which they came

  const KernelLaunch *launch = nullptr;
  Checker *checker = nullptr;
  Traffic *traffic = nullptr;
  std::optional<std::mt19937_64> random;
  int count = 0;   ///< threads
  int current = 0; ///< the one that runs
  int32_t blockNumber = 0;
  std::string problem; ///< the first one; the block ends with it
};

} // namespace smet::rt

#endif // SMET_RUNTIME_EMULATOR_BLOCK_H
