//===- Checker.cpp - which accesses of a kernel are wrong -----------------===//
#include "runtime/emulator/Checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace smet::rt {

/// The range of shared addresses, whatever part of it a kernel asks for.
static constexpr ptrdiff_t sharedRange = 256 << 10;

void Checker::startBlock(int32_t newBlock, const char *newShared) {
  block = newBlock;
  shared = newShared;
  sharedCells.assign(sharedBytes, {});
  clocks.assign(size_t(threads) * threads, 0);
  for (int t = 0; t < threads; ++t)
    clocks[size_t(t) * threads + t] = 1;
}

bool Checker::isShared(const void *address) const {
  ptrdiff_t offset = static_cast<const char *>(address) - shared;
  return offset >= 0 && offset < sharedRange;
}

std::string Checker::describe(const Access &a) const {
  std::string place = fmt::format("address {}", a.address);
  auto *address = static_cast<const char *>(a.address);
  if (isShared(address))
    place = fmt::format("byte {} of shared memory, which has {}", address - shared, sharedBytes);
  else
    for (size_t i = 0; i < buffers.size(); ++i) {
      const KernelBuffer &b = buffers[i];
      ptrdiff_t offset = address - static_cast<const char *>(b.data);
      // With a known argument the place is relative to it, in it or not.
      if (b.bytes && (a.argument >= 0 ? size_t(a.argument) == i : offset >= 0 && offset < b.bytes))
        place = fmt::format("byte {} of argument {}, which has {}", offset, i, b.bytes);
    }
  return fmt::format("{} of {} bytes at {}", a.isStore ? "store" : "load", a.bytes, place);
}

std::optional<AccessProblem> Checker::checkBounds(const Access &a) const {
  auto *begin = static_cast<const char *>(a.address), *end = begin + a.bytes;
  auto contains = [&](const void *data, int64_t bytes) {
    auto *first = static_cast<const char *>(data);
    return begin >= first && end <= first + bytes;
  };
  bool inside = false;
  if (isShared(begin))
    inside = contains(shared, sharedBytes);
  else if (a.argument >= 0)
    inside = size_t(a.argument) < buffers.size() && contains(buffers[a.argument].data, buffers[a.argument].bytes);
  else
    inside = std::ranges::any_of(buffers, [&](const KernelBuffer &b) { return contains(b.data, b.bytes); });
  if (!inside)
    return AccessProblem{"out of bounds: " + describe(a)};
  if (reinterpret_cast<uintptr_t>(begin) % uintptr_t(a.bytes))
    return AccessProblem{"misaligned: " + describe(a)};
  return std::nullopt;
}

Checker::Cell &Checker::cellAt(const char *address) {
  if (isShared(address))
    return sharedCells[address - shared];
  auto number = reinterpret_cast<uintptr_t>(address);
  auto &page = pages[number / pageBytes];
  if (!page)
    page = std::make_unique<Page>();
  return (*page)[number % pageBytes];
}

bool Checker::isBefore(const Stamp &stamp, int thread) const {
  if (stamp.who.thread < 0)
    return true;
  if (stamp.who.block != block)
    return false;
  return stamp.who.thread == thread || stamp.clock <= clocks[size_t(thread) * threads + stamp.who.thread];
}

Checker::Stamp Checker::now(const Access &a) const {
  return {{block, a.thread}, clocks[size_t(a.thread) * threads + a.thread], a.site};
}

std::optional<AccessProblem> Checker::checkOrder(const Access &a, Cell &cell) const {
  auto with = [&](const char *what, const Stamp &other) {
    return AccessProblem{what + describe(a), other.who, other.site};
  };
  if (cell.copy.who.thread >= 0)
    return with("missing wait for an asynchronous copy: ", cell.copy);
  if (!isBefore(cell.write, a.thread))
    return with("race with a store: ", cell.write);
  if (a.isStore)
    for (const Stamp &read : cell.reads)
      if (!isBefore(read, a.thread))
        return with("race with a load: ", read);
  if (!a.isStore && isShared(a.address) && !cell.isInitialized)
    return AccessProblem{"shared memory that nothing was stored to: " + describe(a)};
  return std::nullopt;
}

void Checker::record(const Access &a, Cell &cell) {
  if (a.isStore) {
    cell.write = now(a);
    cell.isInitialized = true;
    return;
  }
  // Of the threads that read, the last two: a store that races with a third races with one of them, too, unless these
  // have synchronized with the writer and the third has not.
  if (cell.reads[0].who != ThreadIndex{block, a.thread})
    cell.reads[1] = cell.reads[0];
  cell.reads[0] = now(a);
}

std::optional<AccessProblem> Checker::access(const Access &a) {
  auto *begin = static_cast<const char *>(a.address);
  auto *stack = reinterpret_cast<const char *>(a.stack.data());
  if (begin >= stack && begin + a.bytes <= stack + a.stack.size())
    return std::nullopt; // a thread's own
  if (auto problem = checkBounds(a))
    return problem;
  for (int32_t i = 0; i < a.bytes; ++i)
    if (auto problem = checkOrder(a, cellAt(begin + i)))
      return problem;
  for (int32_t i = 0; i < a.bytes; ++i)
    record(a, cellAt(begin + i));
  return std::nullopt;
}

std::optional<AccessProblem> Checker::beginCopy(const Access &a) {
  if (auto problem = access(a))
    return problem;
  for (int32_t i = 0; i < a.bytes; ++i)
    cellAt(static_cast<const char *>(a.address) + i).copy = now(a);
  return std::nullopt;
}

void Checker::endCopy(const Access &a) {
  for (int32_t i = 0; i < a.bytes; ++i) {
    Cell &cell = cellAt(static_cast<const char *>(a.address) + i);
    cell.copy = {};
    record(a, cell);
  }
}

void Checker::order(std::span<const int> group) {
  std::vector<uint32_t> joined(threads, 0);
  for (int t : group)
    for (int other = 0; other < threads; ++other)
      joined[other] = std::max(joined[other], clocks[size_t(t) * threads + other]);
  for (int t : group) {
    std::ranges::copy(joined, clocks.begin() + size_t(t) * threads);
    ++clocks[size_t(t) * threads + t];
  }
}

} // namespace smet::rt
