//===- Traffic.cpp - what a kernel moves through memory -------------------===//
#include "runtime/emulator/Traffic.h"

#include <algorithm>
#include <bit>
#include <set>

namespace smet::rt {

static constexpr int banks = 32, bankBytes = 4, sectorBytes = 32;

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
  lanes.addresses[access.lane] = access.address;
  lanes.present |= 1u << access.lane;
  lanes.bytes = access.bytes;
  lanes.isStore = access.isStore;
  lanes.isShared = access.isShared;
  if (lanes.present == ~0u) {
    count(lanes);
    open.erase(place);
  }
}

void Traffic::finishBlock() {
  for (const auto &[key, lanes] : open)
    count(lanes);
  open.clear();
}

/// Passes over the banks: neighbouring lanes are taken together, as many as 128 bytes hold, and a pass gets one word
/// from a bank.
int64_t Traffic::passes(const Lanes &lanes) {
  int together = std::min(warpLanes, banks * bankBytes / std::max(lanes.bytes, bankBytes));
  int64_t total = 0;
  for (int first = 0; first < warpLanes; first += together) {
    std::array<std::set<uint64_t>, banks> words;
    for (int lane = first; lane < first + together; ++lane)
      if (lanes.present >> lane & 1)
        for (uint64_t word = lanes.addresses[lane] / bankBytes;
             word <= (lanes.addresses[lane] + lanes.bytes - 1) / bankBytes; ++word)
          words[word % banks].insert(word);
    size_t most = 0;
    for (const auto &bank : words)
      most = std::max(most, bank.size());
    total += int64_t(most);
  }
  return total;
}

void Traffic::count(const Lanes &lanes) {
  int64_t bytes = int64_t(std::popcount(lanes.present)) * lanes.bytes;
  if (lanes.isShared) {
    int64_t needed = std::max<int64_t>(1, (bytes + banks * bankBytes - 1) / (banks * bankBytes));
    int64_t taken = passes(lanes);
    counters.sharedPasses += taken;
    counters.sharedConflicts += std::max<int64_t>(taken - needed, 0);
    return;
  }
  std::set<uint64_t> sectors;
  for (int lane = 0; lane < warpLanes; ++lane)
    if (lanes.present >> lane & 1)
      for (uint64_t s = lanes.addresses[lane] / sectorBytes;
           s <= (lanes.addresses[lane] + lanes.bytes - 1) / sectorBytes; ++s)
        sectors.insert(s);
  (lanes.isStore ? counters.globalStoreBytes : counters.globalLoadBytes) += bytes;
  (lanes.isStore ? counters.globalStoreSectors : counters.globalLoadSectors) += int64_t(sectors.size());
}

} // namespace smet::rt
