//===- Measure.cpp - runs what the tuner has compiled ---------------------===//
#include "Measure.h"

#include "runtime/program/RandomData.h"

#include <chrono>
#include <cmath>

using namespace smet;

namespace {

/// Odd, so that a median is a sample.
constexpr int rounds = 7;
/// A sample lasts about this long, in seconds, or one run: the clock and a first touch of the caches are nothing beside
/// it.
constexpr double minSample = 2e-3;
/// Runs of the fastest entry point in a sample, at most.
constexpr double maxRepeats = 1e4;

/// Seconds of `repeats` runs.
rt::Expected<double> time(rt::Instance &instance, const std::string &entry, int repeats) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i)
    if (auto outcome = instance.run(entry); !outcome)
      return std::unexpected(outcome.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

rt::Expected<TuningSeconds> measureAll(const TuningProgram &program) {
  auto pool = rt::ThreadPool::create(1);
  if (!pool)
    return std::unexpected(pool.error());
  auto instance = rt::Instance::load(program.path, **pool);
  if (!instance)
    return std::unexpected(instance.error());
  rt::BlockGrid grid{program.rows, program.cols, program.blockRows, program.blockCols};
  rt::drawTopology(**instance, **pool, "t", grid, program.nnz, /*layer=*/0);
  rt::drawTensors(**instance, **pool);
  TuningSeconds seconds(program.entryPoints);
  std::vector<int> repeats(program.entryPoints, 1);
  for (int round = -2; round < rounds; ++round) // the first one warms up, two find the repeats
    for (int64_t i = 0; i < program.entryPoints; ++i) {
      auto sample = time(**instance, fmt::format("c{}", i), repeats[i]);
      if (!sample)
        return std::unexpected(sample.error());
      double once = *sample / repeats[i];
      if (round < 0)
        repeats[i] = int(std::ceil(std::min(minSample / std::max(once, 1e-9), maxRepeats)));
      else
        seconds[i].push_back(once);
    }
  return seconds;
}

} // namespace

std::string smet::measure(const TuningProgram &program, TuningSeconds &seconds) {
  auto measured = measureAll(program);
  if (!measured)
    return measured.error().message;
  seconds = std::move(*measured);
  return "";
}
