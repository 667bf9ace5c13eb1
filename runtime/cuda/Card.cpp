//===- Card.cpp -----------------------------------------------------------===//
#include "runtime/cuda/Card.h"

#include <array>

namespace smet::rt::cuda {

std::string Card::chip() const { return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : ""); }

static Expected<Card> describe(const Driver &driver, int ordinal) {
  Card card;
  std::array<char, 256> name = {};
  Result result = driver.deviceGet(&card.id, ordinal);
  if (result == kSuccess)
    result = driver.deviceGetName(name.data(), int(name.size()), card.id);
  if (result == kSuccess)
    result = driver.deviceGetAttribute(&card.major, kComputeCapabilityMajor, card.id);
  if (result == kSuccess)
    result = driver.deviceGetAttribute(&card.minor, kComputeCapabilityMinor, card.id);
  if (Status good = driver.check(result, fmt::format("GPU {}", ordinal)); !good)
    return std::unexpected(good.error());
  card.name = name.data();
  return card;
}

Expected<std::vector<Card>> findCards(const Driver &driver) {
  int count = 0;
  if (Status counted = driver.check(driver.deviceGetCount(&count), "counting the GPUs"); !counted)
    return std::unexpected(counted.error());
  std::vector<Card> cards;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    auto card = describe(driver, ordinal);
    if (!card)
      return std::unexpected(card.error());
    cards.push_back(std::move(*card));
  }
  return cards;
}

Expected<CardMemory> memoryOf(const Driver &driver, const Card &card) {
  PrimaryContext context = nullptr;
  if (Status made = driver.check(driver.contextRetain(&context, card.id), card.name); !made)
    return std::unexpected(made.error());
  Expected<CardMemory> memory = CardMemory();
  if (Status current = driver.check(driver.contextSetCurrent(context), card.name); !current)
    memory = std::unexpected(current.error());
  else
    memory = currentMemory(driver);
  driver.contextSetCurrent(nullptr);
  driver.contextRelease(card.id);
  return memory;
}

Expected<CardMemory> currentMemory(const Driver &driver) {
  size_t free = 0, total = 0;
  if (Status asked = driver.check(driver.memGetInfo(&free, &total), "asking for the card's memory"); !asked)
    return std::unexpected(asked.error());
  return CardMemory{int64_t(free), int64_t(total)};
}

} // namespace smet::rt::cuda
