//===- Measure.cpp - runs what the tuner has compiled ---------------------===//
#include "Measure.h"

#include "runtime/cpu/Topology.h"
#include "runtime/program/Instance.h"

#include <chrono>
#include <cmath>

using namespace smet;

namespace {

/// Odd, so that a median is a sample.
constexpr int rounds = 7;
/// A sample lasts at least this long, in seconds: the clock and a first touch of the caches are nothing beside it.
constexpr double minSample = 2e-3;

void fill(rt::Instance &instance, const TuningProgram &program, rt::ThreadPool &pool) {
  rt::Arena &arena = instance.arena();
  rt::BlockGrid grid{program.rows, program.cols, program.blockRows, program.blockCols};
  auto array = [&](const char *name) -> void * { return arena.base() + instance.manifest().find(name)->offset; };
  rt::Topology topology{{grid, program.nnz, static_cast<int32_t *>(array("t.positions")),
                         rt::Coordinates(array("t.coordinates"), grid.colBlocks())},
                        static_cast<int32_t *>(array("t.t_positions")),
                        rt::Coordinates(array("t.t_coordinates"), grid.rowBlocks()),
                        static_cast<int32_t *>(array("t.t_perm"))};
  rt::initTopology(pool, topology, /*seed=*/1, /*layer=*/0);
  for (const rt::TensorInfo &info : instance.manifest().tensors)
    if (info.dtype == rt::DType::F32 && info.role != rt::Role::Workspace)
      rt::initNormalDense(pool, /*seed=*/1, int64_t(info.offset), 0.02, *arena.tensor<float>(info.name));
}

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
  fill(**instance, program, **pool);
  TuningSeconds seconds(program.entryPoints);
  std::vector<int> repeats(program.entryPoints, 1);
  for (int round = -1; round < rounds; ++round) // the first one warms up
    for (int64_t i = 0; i < program.entryPoints; ++i) {
      auto sample = time(**instance, fmt::format("c{}", i), repeats[i]);
      if (!sample)
        return std::unexpected(sample.error());
      if (round < 0)
        repeats[i] = int(std::ceil(std::min(minSample / std::max(*sample, 1e-9), 1e4)));
      else
        seconds[i].push_back(*sample / repeats[i]);
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
