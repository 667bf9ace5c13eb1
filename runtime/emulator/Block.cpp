//===- Block.cpp - the threads of one emulated block ----------------------===//
#include "runtime/emulator/Block.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

namespace smet::rt {

/// Shared memory is aligned to its address range, so that an address's lower bits are its offset.
static constexpr size_t sharedRange = 256 << 10;

Expected<std::unique_ptr<Block>> Block::create() {
  std::unique_ptr<Block> block(new Block);
  block->sharedMemory.reset(static_cast<char *>(std::aligned_alloc(sharedRange, sharedRange)));
  if (!block->sharedMemory)
    return fail("cannot allocate the shared memory of an emulated block");
  auto stacks = FiberStacks::create(maxThreads);
  if (!stacks)
    return std::unexpected(stacks.error());
  block->stacks = std::move(*stacks);
  block->threads.resize(maxThreads);
  block->shared = block->sharedMemory.get();
  block->barrier = [](smet_emulator *e, int32_t site, int32_t id, int32_t threads) {
    static_cast<Block *>(e)->arrive(site, id, threads);
  };
  block->warp_sync = [](smet_emulator *e, int32_t site, uint32_t mask) {
    static_cast<Block *>(e)->meet({.kind = WarpOp::Sync, .mask = mask}, site);
  };
  block->shuffle = [](smet_emulator *e, int32_t site, int32_t mode, uint32_t mask, uint32_t value, uint32_t lane,
                      uint32_t clamp) {
    uint64_t result = 0;
    static_cast<Block *>(e)->meet(
        {.kind = WarpOp::Shuffle, .mask = mask, .mode = mode, .value = value, .lane = lane, .clamp = clamp}, site,
        &result);
    return result;
  };
  block->mma_m16n8k16_bf16 = [](smet_emulator *e, int32_t site, const uint32_t *a, const uint32_t *b, const float *c,
                                float *d) {
    static_cast<Block *>(e)->meet({.kind = WarpOp::Mma, .a = a, .b = b, .c = c, .d = d}, site);
  };
  block->ldmatrix = [](smet_emulator *e, int32_t site, int32_t count, int32_t transposed, const void *row,
                       uint32_t *fragment) {
    static_cast<Block *>(e)->meet({.kind = WarpOp::LoadMatrix,
                                   .mode = count,
                                   .transposed = transposed != 0,
                                   .row = static_cast<const char *>(row),
                                   .fragment = fragment},
                                  site);
  };
  block->cp_async = [](smet_emulator *e, int32_t site, void *to, const void *from, int32_t bytes, int32_t valid) {
    auto *block = static_cast<Block *>(e);
    block->askForCopy({static_cast<char *>(to), static_cast<const char *>(from), bytes, std::clamp(valid, 0, bytes),
                       site, block->threads[block->current].group});
  };
  block->cp_async_commit = [](smet_emulator *e, int32_t) {
    auto *block = static_cast<Block *>(e);
    ++block->threads[block->current].group;
  };
  block->cp_async_wait = [](smet_emulator *e, int32_t, int32_t pending) {
    auto *block = static_cast<Block *>(e);
    block->finishCopies(block->threads[block->current].group - pending);
  };
  block->access = [](smet_emulator *e, int32_t site, const void *address, int32_t bytes, int32_t kind,
                     int32_t argument) {
    auto *block = static_cast<Block *>(e);
    block->checkAccess(block->current, site, address, bytes, kind == SMET_ACCESS_STORE, argument);
  };
  return block;
}

Block::~Block() = default;

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

Status Block::run(const KernelLaunch &newLaunch, int32_t index, std::optional<uint64_t> seed, Checker *newChecker,
                  Traffic *newTraffic) {
  launch = &newLaunch;
  checker = newChecker;
  traffic = newTraffic;
  blockNumber = index;
  problem.clear();
  flops = 0;
  random.reset();
  if (seed)
    random.emplace(*seed * 0x9E3779B97F4A7C15u + uint64_t(index));
  std::ranges::copy(launch->grid, grid_size);
  std::ranges::copy(launch->block, block_size);
  block[0] = uint32_t(index) % grid_size[0];
  block[1] = uint32_t(index) / grid_size[0] % grid_size[1];
  block[2] = uint32_t(index) / grid_size[0] / grid_size[1];
  count = int(block_size[0] * block_size[1] * block_size[2]);
  waiting.clear();
  if (checker)
    checker->startBlock(index, shared);
  for (int t = 0; t < count; ++t) {
    Thread &thread = threads[t];
    thread.state = State::Ready;
    thread.copies.clear();
    thread.group = 0;
    thread.turns.assign(traffic ? launch->locations.size() : 0, 0);
    thread.fiber.start(stacks->stack(t), runThread, this);
  }
  schedule();
  if (traffic) {
    traffic->finishBlock();
    traffic->counters.flops += flops;
  }
  if (!problem.empty())
    return fail("{}", problem);
  return {};
}

void Block::runThread(void *self) {
  auto *block = static_cast<Block *>(self);
  block->launch->kernel(block, block->launch->arguments.data());
  block->finishCopies(block->threads[block->current].group + 1);
  block->wait(State::Done, -1);
}

/// Runs all threads that can, again and again, until all have ended or none can.
void Block::schedule() {
  order.resize(count);
  std::iota(order.begin(), order.end(), 0);
  int left = count;
  while (left) {
    if (random)
      std::ranges::shuffle(order, *random);
    bool progress = false;
    for (int t : order) {
      if (threads[t].state != State::Ready)
        continue;
      progress = true;
      enter(t);
      if (!problem.empty())
        return;
      left -= threads[t].state == State::Done;
    }
    if (!progress) {
      problem = fmt::format("kernel '{}', block {}: threads wait for others in vain (divergent barrier or shuffle): {}",
                            launch->name, nameOf({blockNumber, -1}), describeWaiting());
      return;
    }
  }
}

void Block::enter(int t) {
  current = t;
  thread[0] = uint32_t(t) % block_size[0];
  thread[1] = uint32_t(t) / block_size[0] % block_size[1];
  thread[2] = uint32_t(t) / block_size[0] / block_size[1];
  threads[t].fiber.enter();
}

/// The current thread stops running, until somebody makes it ready.
void Block::wait(State state, int32_t site) {
  Thread &thread = threads[current];
  thread.state = state;
  thread.site = site;
  if (random)
    finishSomeCopies();
  thread.fiber.leave();
}

void Block::arrive(int32_t site, int32_t id, int32_t expected) {
  if (expected == 0)
    expected = count;
  Thread &thread = threads[current];
  thread.barrier = id;
  thread.barrierThreads = expected;
  std::vector<int> &here = waiting[id];
  if (!here.empty()) {
    const Thread &other = threads[here.front()];
    if (other.barrierThreads != expected)
      note(current, site,
           fmt::format("barrier {} is for {} threads here, and for {} at {}", id, expected, other.barrierThreads,
                       location(other.site)));
    else if (checker && other.site != site)
      note(current, site,
           fmt::format("divergent barrier: {} waits at another one, {}", nameOf({blockNumber, here.front()}),
                       location(other.site)));
    if (!problem.empty())
      abandon();
  }
  here.push_back(current);
  if (int(here.size()) < expected)
    return wait(State::AtBarrier, site);
  if (checker)
    checker->order(here);
  for (int t : here)
    threads[t].state = State::Ready;
  here.clear();
  // Whoever comes last need not go on first.
  if (random)
    wait(State::Ready, site);
}

//===----------------------------------------------------------------------===//
// Instructions of a warp
//===----------------------------------------------------------------------===//

void Block::meet(WarpOp op, int32_t site, uint64_t *result) {
  int firstLane = current / warpLanes * warpLanes, lanes = lanesOf(firstLane), lane = current - firstLane;
  if (lanes < warpLanes)
    op.mask &= (1u << lanes) - 1;
  if (!(op.mask >> lane & 1))
    note(current, site, fmt::format("lane {} is not in its own mask {:#x}", lane, op.mask));
  else if ((op.kind == WarpOp::Mma || op.kind == WarpOp::LoadMatrix) && op.mask != ~0u)
    note(current, site, "an instruction of a whole warp in a warp of fewer threads");
  if (!problem.empty())
    abandon();
  threads[current].op = &op;
  uint32_t arrived = 1u << lane;
  for (int l = 0; l < lanes; ++l) {
    const Thread &other = threads[firstLane + l];
    if (other.state == State::InWarp && other.op->kind == op.kind && other.op->mask == op.mask)
      arrived |= 1u << l;
  }
  if ((arrived & op.mask) != op.mask) {
    wait(State::InWarp, site);
  } else {
    perform(firstLane, op.mask, site);
    for (int l = 0; l < lanes; ++l)
      if (op.mask >> l & 1)
        threads[firstLane + l].state = State::Ready;
  }
  if (result)
    *result = op.result;
}

void Block::perform(int firstLane, uint32_t mask, int32_t site) {
  switch (threads[current].op->kind) {
  case WarpOp::Sync: {
    if (!checker)
      return;
    group.clear();
    for (int l = 0; l < warpLanes; ++l)
      if (mask >> l & 1)
        group.push_back(firstLane + l);
    return checker->order(group);
  }
  case WarpOp::Shuffle:
    return shuffleLanes(firstLane, mask, site);
  case WarpOp::Mma:
    return multiply(firstLane);
  case WarpOp::LoadMatrix:
    return loadMatrices(firstLane, site);
  }
}

void Block::shuffleLanes(int firstLane, uint32_t mask, int32_t site) {
  for (int lane = 0; lane < warpLanes; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    WarpOp &op = *threads[firstLane + lane].op;
    // As in the PTX manual: lanes of a segment see each other.
    int segment = op.clamp >> 8 & 31, clamp = op.clamp & 31;
    int last = (lane & segment) | (clamp & ~segment), first = lane & segment, by = op.lane & 31, source = lane;
    bool inRange = true;
    switch (op.mode) {
    case SMET_SHUFFLE_UP:
      source = lane - by;
      inRange = source >= last;
      break;
    case SMET_SHUFFLE_DOWN:
      source = lane + by;
      inRange = source <= last;
      break;
    case SMET_SHUFFLE_XOR:
      source = lane ^ by;
      inRange = source <= last;
      break;
    default:
      source = first | (by & ~segment);
      inRange = source <= last;
    }
    if (!inRange)
      source = lane;
    if (!(mask >> source & 1)) {
      note(current, site, fmt::format("lane {} reads from lane {}, which takes no part in the shuffle", lane, source));
      abandon();
    }
    op.result = uint64_t(threads[firstLane + source].op->value) | uint64_t(inRange) << 32;
  }
}

static float fromBF16(uint32_t word, int half) { return std::bit_cast<float>(half ? word & 0xFFFF0000u : word << 16); }

/// Fragments of m16n8k16 (PTX ISA, figures 83 to 86): lane 4 g + t holds of a rows g and g + 8, columns 2 t, 2 t + 1
/// and these plus 8; of b column g, the same rows; of c rows g and g + 8, columns 2 t and 2 t + 1.
void Block::multiply(int firstLane) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < warpLanes; ++lane) {
    const WarpOp &op = *threads[firstLane + lane].op;
    int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half)
        a[g + i % 2 * 8][2 * t + half + i / 2 * 8] = fromBF16(op.a[i], half);
    for (int i = 0; i < 2; ++i)
      for (int half = 0; half < 2; ++half)
        b[2 * t + half + i * 8][g] = fromBF16(op.b[i], half);
  }
  for (int lane = 0; lane < warpLanes; ++lane) {
    const WarpOp &op = *threads[firstLane + lane].op;
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float sum = op.c[i];
      for (int k = 0; k < 16; ++k)
        sum += a[row][k] * b[k][column];
      op.d[i] = sum;
    }
  }
  if (traffic)
    ++traffic->counters.mmas;
}

/// A matrix is eight rows of eight 16-bit numbers; lane 4 g + t gets numbers 2 t and 2 t + 1 of row g, transposed: of
/// column g.
void Block::loadMatrices(int firstLane, int32_t site) {
  int matrices = threads[current].op->mode;
  uint16_t numbers[4][8][8];
  for (int lane = 0; lane < 8 * matrices; ++lane) {
    const char *row = threads[firstLane + lane].op->row;
    checkAccess(firstLane + lane, site, row, 16, /*isStore=*/false);
    std::memcpy(numbers[lane / 8][lane % 8], row, 16);
  }
  for (int lane = 0; lane < warpLanes; ++lane) {
    const WarpOp &op = *threads[firstLane + lane].op;
    int g = lane / 4, t = lane % 4;
    for (int m = 0; m < matrices; ++m) {
      uint32_t low = op.transposed ? numbers[m][2 * t][g] : numbers[m][g][2 * t];
      uint32_t high = op.transposed ? numbers[m][2 * t + 1][g] : numbers[m][g][2 * t + 1];
      op.fragment[m] = low | high << 16;
    }
  }
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

void Block::askForCopy(const Copy &asked) {
  if (asked.valid > 0)
    checkAccess(current, asked.site, asked.from, asked.valid, /*isStore=*/false);
  if (checker && hasProblem(checker->beginCopy(destination(current, asked)), current, asked.site))
    abandon();
  if (asked.valid > 0)
    countAccess(destination(current, asked));
  threads[current].copies.push_back(asked);
}

Checker::Access Block::destination(int thread, const Copy &copy) {
  return {.thread = thread, .site = copy.site, .address = copy.to, .bytes = copy.bytes, .isStore = true};
}

void Block::copyNow(Copy &copy) {
  std::memcpy(copy.to, copy.from, size_t(copy.valid));
  std::memset(copy.to + copy.valid, 0, size_t(copy.bytes - copy.valid));
  copy.isDone = true;
}

/// The current thread has waited for all groups before one.
void Block::finishCopies(int32_t group) {
  auto &copies = threads[current].copies;
  for (; !copies.empty() && copies.front().group < group; copies.pop_front()) {
    if (!copies.front().isDone)
      copyNow(copies.front());
    if (checker)
      checker->endCopy(destination(current, copies.front()));
  }
}

void Block::finishSomeCopies() {
  for (Copy &copy : threads[current].copies)
    if (!copy.isDone && (*random)() % 4 == 0)
      copyNow(copy);
}

//===----------------------------------------------------------------------===//
// Checks and reports
//===----------------------------------------------------------------------===//

void Block::checkAccess(int t, int32_t site, const void *address, int32_t bytes, bool isStore, int32_t argument) {
  if (!checker)
    return;
  Checker::Access access{t, site, address, bytes, isStore, argument, stacks->stack(t)};
  if (hasProblem(checker->access(access), t, site))
    abandon();
  countAccess(access);
}

void Block::countAccess(const Checker::Access &access) {
  auto number = reinterpret_cast<uint64_t>(access.address), base = reinterpret_cast<uint64_t>(shared);
  auto stack = std::as_const(access.stack);
  bool isStack = number - reinterpret_cast<uint64_t>(stack.data()) < stack.size();
  if (!traffic || isStack || size_t(access.site) >= threads[access.thread].turns.size())
    return;
  bool isShared = number - base < sharedRange;
  traffic->add({access.thread / warpLanes, access.thread % warpLanes, access.site,
                threads[access.thread].turns[access.site]++, isShared ? number - base : number, access.bytes,
                access.isStore, isShared});
}

// Threads that are never entered again leave nothing on their stacks that would have to be freed.

void Block::note(int t, int32_t site, const std::string &what) {
  problem = fmt::format("kernel '{}', {}, {}: {}", launch->name, nameOf({blockNumber, t}), location(site), what);
}

bool Block::hasProblem(const std::optional<AccessProblem> &wrong, int t, int32_t site) {
  if (!wrong)
    return false;
  std::string other;
  if (wrong->other.thread >= 0)
    other = fmt::format("; {}, {}", nameOf(wrong->other), location(wrong->otherSite));
  note(t, site, wrong->what + other);
  return true;
}

/// Ends the block: the current thread is not entered again.
void Block::abandon() {
  threads[current].fiber.leave();
  std::unreachable();
}

std::string Block::nameOf(ThreadIndex index) const {
  auto coordinates = [](uint32_t i, const uint32_t *sizes) {
    return fmt::format("({}, {}, {})", i % sizes[0], i / sizes[0] % sizes[1], i / sizes[0] / sizes[1]);
  };
  std::string name = "block " + coordinates(uint32_t(index.block), grid_size);
  return index.thread < 0 ? name : name + " thread " + coordinates(uint32_t(index.thread), block_size);
}

std::string Block::location(int32_t site) const {
  return size_t(site) < launch->locations.size() ? launch->locations[site] : "unknown location";
}

/// How many threads wait where.
std::string Block::describeWaiting() const {
  std::map<std::string, int> groups;
  for (int t = 0; t < count; ++t) {
    const Thread &thread = threads[t];
    ++groups[thread.state == State::Done ? "have ended"
             : thread.state == State::AtBarrier
                 ? fmt::format("wait at barrier {}, {}", thread.barrier, location(thread.site))
                 : "wait for their warp, " + location(thread.site)];
  }
  std::vector<std::string> parts;
  for (const auto &[what, number] : groups)
    parts.push_back(fmt::format("{} {}", number, what));
  return fmt::format("{}", fmt::join(parts, "; "));
}

} // namespace smet::rt
