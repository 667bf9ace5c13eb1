//===- Traffic.cpp - what a kernel moves through memory -------------------===//
#include "runtime/emulator/Traffic.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace smet::rt {

static constexpr int warpLanes = 32, banks = 32, bankBytes = 4, sectorBytes = 32;

KernelCounters &KernelCounters::operator+=(const KernelCounters &other) {
  for (int64_t KernelCounters::*field :
       {&KernelCounters::globalLoadBytes, &KernelCounters::globalStoreBytes, &KernelCounters::globalLoadSectors,
        &KernelCounters::globalStoreSectors, &KernelCounters::sharedPasses, &KernelCounters::sharedConflicts,
        &KernelCounters::flops, &KernelCounters::mmas})
    this->*field += other.*field;
  return *this;
}

void Traffic::add(const Access &access) {
  auto place = open.try_emplace({access.warp, access.site, access.turn}).first;
  Lanes &lanes = place->second;
  lanes.addresses.push_back(access.address);
  lanes.bytes = access.bytes;
  lanes.isStore = access.isStore;
  lanes.isShared = access.isShared;
  if (lanes.addresses.size() == warpLanes) {
    count(lanes);
    open.erase(place);
  }
}

void Traffic::finishBlock() {
  for (const auto &[key, lanes] : open)
    count(lanes);
  open.clear();
}

/// Passes over the banks: lanes are taken as many at a time as 128 bytes hold, and a pass gets one word from a bank.
static int64_t passes(std::span<const uint64_t> addresses, int32_t bytes) {
  size_t together = std::min<size_t>(warpLanes, banks * bankBytes / std::max(bytes, bankBytes));
  int64_t total = 0;
  for (size_t first = 0; first < addresses.size(); first += together) {
    std::array<std::set<uint64_t>, banks> words;
    for (size_t i = first; i < std::min(first + together, addresses.size()); ++i)
      for (uint64_t word = addresses[i] / bankBytes; word <= (addresses[i] + bytes - 1) / bankBytes; ++word)
        words[word % banks].insert(word);
    size_t most = 0;
    for (const auto &bank : words)
      most = std::max(most, bank.size());
    total += int64_t(most);
  }
  return total;
}

void Traffic::count(const Lanes &lanes) {
  int64_t bytes = int64_t(lanes.addresses.size()) * lanes.bytes;
  if (lanes.isShared) {
    int64_t needed = std::max<int64_t>(1, (bytes + banks * bankBytes - 1) / (banks * bankBytes));
    int64_t taken = passes(lanes.addresses, lanes.bytes);
    counters.sharedPasses += taken;
    counters.sharedConflicts += std::max<int64_t>(taken - needed, 0);
    return;
  }
  std::set<uint64_t> sectors;
  for (uint64_t address : lanes.addresses)
    for (uint64_t s = address / sectorBytes; s <= (address + lanes.bytes - 1) / sectorBytes; ++s)
      sectors.insert(s);
  (lanes.isStore ? counters.globalStoreBytes : counters.globalLoadBytes) += bytes;
  (lanes.isStore ? counters.globalStoreSectors : counters.globalLoadSectors) += int64_t(sectors.size());
}

} // namespace smet::rt
