//===- Fit.cpp ------------------------------------------------------------===//
#include "runtime/cuda/Fit.h"

#include "runtime/program/Arena.h"
#include "runtime/train/Plan.h"
#include "runtime/train/Progress.h"

namespace smet::rt::cuda {

/// What to change so that `free` bytes are enough.
static std::string advice(const Manifest &manifest, int64_t free) {
  MemoryReport report = memoryReport(manifest);
  int64_t batch = manifest.config.value("batch", int64_t(1));
  int64_t perBatch = report.activations + report.io;
  int64_t fixed = report.total - perBatch;
  if (fixed >= free)
    return "weights and what belongs to them do not fit at any batch size: take a lower --density or a smaller model";
  int64_t fits = std::min(int64_t(double(free - fixed) / double(perBatch) * double(batch)), batch - 1);
  if (fits < 1)
    return "not even a --batch-size of 1 fits: take a lower --density, a shorter --seq-len or a smaller model";
  return fmt::format("a --batch-size of {} would fit", fits);
}

Status checkFits(const Manifest &manifest, const Card &card, const CardMemory &memory) {
  if (manifest.arenaBytes <= memory.free)
    return {};
  auto text = [](int64_t bytes) { return bytesText(double(bytes)); };
  return fail("{} is too small: the program needs {} and of the card's {}, {} are free; {}\n{}", card.name,
              text(manifest.arenaBytes), text(memory.total), text(memory.free), advice(manifest, memory.free),
              memoryTable(manifest));
}

} // namespace smet::rt::cuda
