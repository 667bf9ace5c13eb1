//===- Topology.cpp -------------------------------------------------------===//

#include "runtime/cpu/Topology.h"

#include "runtime/cpu/Philox.h"
#include "runtime/support/AllocationLog.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <ranges>
#include <vector>

namespace smet::rt {
namespace {

//===----------------------------------------------------------------------===//
// Random keys of consecutive blocks
//===----------------------------------------------------------------------===//

using KeysFunction = void (*)(const RandomSource &source, int64_t begin, int64_t end, uint64_t *keys);

/// Inlined into one function per instruction set, where the loop becomes vectors.
[[gnu::always_inline]] inline void keysLoop(RandomSource source, int64_t begin, int64_t end, uint64_t *keys) {
  for (int64_t b = begin; b < end; ++b)
    keys[b - begin] = randomKey(source, uint64_t(b));
}

void keysGeneric(const RandomSource &source, int64_t begin, int64_t end, uint64_t *keys) {
  keysLoop(source, begin, end, keys);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void keysAvx2(const RandomSource &source, int64_t begin, int64_t end, uint64_t *keys) {
  keysLoop(source, begin, end, keys);
}
[[gnu::target("avx512f")]] void keysAvx512(const RandomSource &source, int64_t begin, int64_t end, uint64_t *keys) {
  keysLoop(source, begin, end, keys);
}
#endif

KeysFunction widestKeys() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return keysAvx512;
  if (__builtin_cpu_supports("avx2"))
    return keysAvx2;
#endif
  return keysGeneric;
}

//===----------------------------------------------------------------------===//
// Drawing blocks
//===----------------------------------------------------------------------===//

/// A block that may be drawn. Equal keys go to the lower block.
struct Candidate {
  uint64_t key;
  int64_t block;
  auto operator<=>(const Candidate &) const = default;
};

/// The blocks of one piece of the grid whose key is at most `limit`.
template <typename IsEligible>
void collect(const RandomSource &source, int64_t begin, int64_t end, uint64_t limit, IsEligible isEligible,
             std::vector<Candidate> &found) {
  static const KeysFunction computeKeys = widestKeys();
  constexpr int64_t batch = 512;
  uint64_t keys[batch];
  for (int64_t at = begin; at < end; at += batch) {
    int64_t size = std::min(batch, end - at);
    computeKeys(source, at, at + size, keys);
    for (int64_t i = 0; i < size; ++i)
      if (keys[i] <= limit && isEligible(at + i))
        found.push_back({keys[i], at + i});
  }
}

/// The candidates of the whole grid by piece, ascending by block.
template <typename IsEligible>
std::vector<std::vector<Candidate>> collectAll(ThreadPool &pool, const RandomSource &source, int64_t blocks,
                                               uint64_t limit, IsEligible isEligible) {
  constexpr int64_t piece = 1 << 16;
  std::vector<std::vector<Candidate>> pieces((blocks + piece - 1) / piece);
  pool.parallelFor(int64_t(pieces.size()), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      collect(source, p * piece, std::min(blocks, (p + 1) * piece), limit, isEligible, pieces[p]);
  });
  return pieces;
}

/// A bound that with near certainty `wanted` of `eligible` uniform keys stay below: twelve standard deviations more
/// than needed, times `slack`.
uint64_t keyLimit(int64_t wanted, int64_t eligible, double slack) {
  double share = (double(wanted) + 12 * std::sqrt(double(wanted)) + 64) * slack / double(eligible);
  return share >= 1 ? std::numeric_limits<uint64_t>::max() : uint64_t(std::ldexp(share, 64));
}

/// The `wanted` of `eligible` blocks with the smallest keys, ascending. The keys of all blocks pass by, and only those
/// below an estimated bound are kept, so that no array is as large as the grid.
template <typename IsEligible>
std::vector<int32_t> draw(ThreadPool &pool, const RandomSource &source, int64_t blocks, int64_t wanted,
                          int64_t eligible, IsEligible isEligible) {
  std::vector<int32_t> drawn;
  drawn.reserve(wanted);
  if (wanted == 0)
    return drawn;
  if (wanted == eligible) {
    for (int64_t b = 0; b < blocks; ++b)
      if (isEligible(b))
        drawn.push_back(int32_t(b));
    return drawn;
  }
  std::vector<Candidate> all;
  std::vector<std::vector<Candidate>> pieces;
  for (double slack = 1; int64_t(all.size()) < wanted; slack *= 2) {
    pieces = collectAll(pool, source, blocks, keyLimit(wanted, eligible, slack), isEligible);
    size_t found = 0;
    for (const auto &piece : pieces)
      found += piece.size();
    all.clear();
    all.reserve(found);
    for (const auto &piece : pieces)
      all.insert(all.end(), piece.begin(), piece.end());
  }
  recordAllocation("topology candidates", int64_t(all.capacity() * sizeof(Candidate)));
  std::nth_element(all.begin(), all.begin() + (wanted - 1), all.end());
  Candidate last = all[wanted - 1];
  for (const auto &piece : pieces)
    for (const Candidate &c : piece)
      if (c <= last)
        drawn.push_back(int32_t(c.block));
  return drawn;
}

//===----------------------------------------------------------------------===//
// Writing a topology
//===----------------------------------------------------------------------===//

/// Counts the column blocks, then deals the slots out in CSR order: row blocks ascend within a column.
void buildTransposed(const Topology &t) {
  int64_t cols = t.grid.colBlocks();
  std::fill_n(t.tPositions, cols + 1, 0);
  for (int64_t s = 0; s < t.nnz; ++s)
    ++t.tPositions[t.coordinates[s] + 1];
  for (int64_t c = 0; c < cols; ++c)
    t.tPositions[c + 1] += t.tPositions[c];
  std::vector<int32_t> next(t.tPositions, t.tPositions + cols);
  for (int64_t row = 0; row < t.grid.rowBlocks(); ++row)
    for (int32_t s = t.positions[row]; s < t.positions[row + 1]; ++s) {
      int32_t at = next[t.coordinates[s]]++;
      t.tCoordinates.set(at, row);
      t.tPerm[at] = s;
    }
}

/// Makes `blocks`, ascending, the active ones.
void setBlocks(const Topology &t, std::span<const int32_t> blocks) {
  int64_t rows = t.grid.rowBlocks(), cols = t.grid.colBlocks();
  int64_t s = 0;
  for (int64_t row = 0; row < rows; ++row) {
    t.positions[row] = int32_t(s);
    for (; s < t.nnz && blocks[s] < (row + 1) * cols; ++s)
      t.coordinates.set(s, blocks[s] - row * cols);
  }
  t.positions[rows] = int32_t(s);
  buildTransposed(t);
}

} // namespace

int64_t ActiveBlocks::slot(int64_t block) const {
  int64_t row = block / grid.colBlocks(), col = block % grid.colBlocks();
  int64_t low = positions[row], high = positions[row + 1];
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (coordinates[middle] < col)
      low = middle + 1;
    else
      high = middle;
  }
  return low < positions[row + 1] && coordinates[low] == col ? low : -1;
}

void initTopology(ThreadPool &pool, const Topology &topology, int64_t seed, int64_t layer) {
  int64_t blocks = topology.grid.blocks();
  RandomSource source{RandomStream::Topology, seed, layer};
  setBlocks(topology, draw(pool, source, blocks, topology.nnz, blocks, [](int64_t) { return true; }));
}

Status topologyFromMask(std::span<const int8_t> mask, const Topology &t) {
  const BlockGrid &grid = t.grid;
  std::vector<int32_t> blocks;
  blocks.reserve(t.nnz);
  for (int64_t block = 0; block < grid.blocks(); ++block) {
    int64_t row = block / grid.colBlocks() * grid.blockRows, col = block % grid.colBlocks() * grid.blockCols;
    auto isSet = [&](int64_t r) {
      return std::ranges::any_of(mask.subspan((row + r) * grid.cols + col, grid.blockCols), std::identity());
    };
    if (std::ranges::any_of(std::views::iota(int64_t(0), grid.blockRows), isSet))
      blocks.push_back(int32_t(block));
  }
  if (int64_t(blocks.size()) != t.nnz)
    return fail("from_mask: the mask sets {} blocks of {} x {}, the topology has nnz = {}", blocks.size(),
                grid.blockRows, grid.blockCols, t.nnz);
  setBlocks(t, blocks);
  return {};
}

Status checkPrune(double rate, int64_t nan) {
  if (!(rate >= 0 && rate <= 1))
    return fail("prune: the rate is {}; it must lie in [0, 1]", rate);
  if (nan >= 0)
    return fail("prune: the score of slot {} is NaN: a weight has become NaN", nan);
  return {};
}

Status prune(std::span<const float> score, double rate, int64_t blocks, std::span<int8_t> keep) {
  int64_t nnz = int64_t(score.size());
  auto nan = std::ranges::find_if(score, [](float s) { return std::isnan(s); });
  if (auto ok = checkPrune(rate, nan == score.end() ? -1 : nan - score.begin()); !ok)
    return ok;
  std::ranges::fill(keep, int8_t(1));
  int64_t pruned = std::min(int64_t(std::floor(rate * double(nnz))), blocks - nnz);
  if (pruned <= 0)
    return {};
  Scratch<float> sorted("pruning scores", nnz);
  std::ranges::copy(score, sorted.span().begin());
  std::ranges::nth_element(sorted.span(), sorted.span().begin() + (pruned - 1));
  float last = sorted[pruned - 1];
  int64_t ties = pruned - std::ranges::count_if(score, [&](float s) { return s < last; });
  for (int64_t s = 0; s < nnz; ++s)
    if (score[s] < last || (score[s] == last && ties-- > 0))
      keep[s] = 0;
  return {};
}

Status growRandom(ThreadPool &pool, const ActiveBlocks &active, std::span<const int8_t> keep, const Growth &growth,
                  std::span<int32_t> grown) {
  int64_t pruned = std::ranges::count(keep, int8_t(0));
  int64_t eligible = active.grid.blocks() - active.nnz + (growth.regrowPruned ? pruned : 0);
  if (pruned > eligible)
    return fail("grow: {} blocks were pruned, but only {} may be grown", pruned, eligible);
  RandomSource source{RandomStream::Topology, growth.seed, growth.layer, growth.update};
  std::vector<int32_t> drawn = draw(pool, source, active.grid.blocks(), pruned, eligible, [&](int64_t block) {
    int64_t slot = active.slot(block);
    return slot < 0 || (growth.regrowPruned && keep[slot] == 0);
  });
  auto end = std::ranges::copy(drawn, grown.begin()).out;
  std::fill(end, grown.end(), -1);
  return {};
}

Status updateTopology(std::span<const int8_t> keep, std::span<const int32_t> grown, const Topology &t,
                      std::span<int32_t> slotMap) {
  int64_t pruned = std::ranges::count(keep, int8_t(0));
  int64_t added = std::ranges::find(grown, -1) - grown.begin();
  if (pruned != added)
    return fail("update_topology: {} blocks pruned but {} grown", pruned, added);
  Scratch<int32_t> blocks("updated blocks", t.nnz);
  int64_t cols = t.grid.colBlocks(), out = 0, g = 0;
  auto add = [&](int64_t block, int64_t oldSlot) {
    blocks[out] = int32_t(block);
    slotMap[out++] = int32_t(oldSlot);
  };
  for (int64_t row = 0; row < t.grid.rowBlocks(); ++row)
    for (int64_t s = t.positions[row]; s < t.positions[row + 1]; ++s) {
      if (keep[s] == 0)
        continue;
      int64_t block = row * cols + t.coordinates[s];
      for (; g < added && grown[g] < block; ++g)
        add(grown[g], -1);
      if (g < added && grown[g] == block)
        return fail("update_topology: block {} is grown though it is active", block);
      add(block, s);
    }
  for (; g < added; ++g)
    add(grown[g], -1);
  setBlocks(t, blocks.span());
  return {};
}

//===----------------------------------------------------------------------===//
// Remapping arrays
//===----------------------------------------------------------------------===//

namespace {

/// Slots [begin, end) that come from consecutive old slots.
struct Run {
  int64_t begin, end, from;
};

/// The run that starts at `begin`, which is not regrown.
Run runFrom(std::span<const int32_t> slotMap, int64_t begin) {
  int64_t end = begin + 1;
  while (end < int64_t(slotMap.size()) && slotMap[end] == slotMap[end - 1] + 1)
    ++end;
  return {begin, end, slotMap[begin]};
}

/// The run that ends before `end`.
Run runBefore(std::span<const int32_t> slotMap, int64_t end) {
  int64_t begin = end - 1;
  while (begin > 0 && slotMap[begin - 1] >= 0 && slotMap[begin - 1] == slotMap[begin] - 1)
    --begin;
  return {begin, end, slotMap[begin]};
}

/// Kept slots stay in order; remap relies on it.
Status checkOrder(std::span<const int32_t> slotMap) {
  int64_t last = -1;
  for (int32_t old : slotMap) {
    if (old == -1)
      continue;
    if (old <= last || old >= int64_t(slotMap.size()))
      return fail("remap: the slot map does not ascend at old slot {}", old);
    last = old;
  }
  return {};
}

} // namespace

Status remap(std::span<const int32_t> slotMap, std::byte *array, int64_t bytesPerSlot) {
  if (auto ok = checkOrder(slotMap); !ok)
    return ok;
  int64_t nnz = int64_t(slotMap.size());
  auto move = [&](const Run &run) {
    std::memmove(array + run.begin * bytesPerSlot, array + run.from * bytesPerSlot,
                 (run.end - run.begin) * bytesPerSlot);
  };
  // Kept slots ascend, so those that move down never overwrite what another still needs when they go first to last,
  // nor those that move up when they go last to first, and neither group touches the other's.
  for (int64_t s = 0; s < nnz;) {
    if (slotMap[s] < 0) {
      ++s;
      continue;
    }
    Run run = runFrom(slotMap, s);
    if (run.from > run.begin)
      move(run);
    s = run.end;
  }
  for (int64_t end = nnz; end > 0;) {
    if (slotMap[end - 1] < 0) {
      --end;
      continue;
    }
    Run run = runBefore(slotMap, end);
    if (run.from < run.begin)
      move(run);
    end = run.begin;
  }
  for (int64_t s = 0; s < nnz; ++s)
    if (slotMap[s] < 0)
      std::memset(array + s * bytesPerSlot, 0, bytesPerSlot);
  return {};
}

} // namespace smet::rt
