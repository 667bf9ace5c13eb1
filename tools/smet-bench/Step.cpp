//===- Step.cpp - smet-bench step -----------------------------------------===//
#include "Step.h"

#include "Machine.h"
#include "Memory.h"
#include "Peer.h"
#include "Table.h"
#include "TrainingProgram.h"

#include "runtime/support/Print.h"
#include "runtime/train/Progress.h"

#include <optional>

namespace smet::bench {
namespace {

/// An op's part of a step.
struct Part {
  std::string op;
  double seconds, calls, flops, bytes; ///< of one step
  double roofline;                     ///< seconds at the machine's limits
  bool isSparseLinear() const { return op == "smet.spmm" || op == "smet.sddmm" || op == "smet.sddmm_adam"; }
};

/// The sum of the parts that `wanted` chooses.
Part sum(const std::vector<Part> &parts, std::string name, auto &&wanted) {
  Part total{std::move(name), 0, 0, 0, 0, 0};
  for (const Part &part : parts)
    if (wanted(part)) {
      total.seconds += part.seconds;
      total.calls += part.calls;
      total.flops += part.flops;
      total.bytes += part.bytes;
      total.roofline += part.roofline;
    }
  return total;
}

/// The ops, then two sums.
std::vector<Part> partsOf(const rt::Profile &profile, int64_t steps, const Machine &machine) {
  std::vector<Part> parts;
  for (const rt::Profile::Row &row : profile.byOp()) {
    double n = double(steps), flops = double(row.flops) / n, bytes = double(row.bytes) / n;
    double roofline = std::max(flops / machine.fmaPeak, bytes / machine.bandwidth());
    parts.push_back({row.name, row.seconds / n, double(row.calls) / n, flops, bytes, roofline});
  }
  Part rest = sum(parts, "outside the sparse linears", [](const Part &p) { return !p.isSparseLinear(); });
  Part all = sum(parts, "step", [](const Part &) { return true; });
  parts.push_back(rest);
  parts.push_back(all);
  return parts;
}

void print(const std::vector<Part> &parts) {
  double step = parts.back().seconds;
  Table table{{{"op", "ms", "share", "calls", "GFLOP", "GFLOP/s", "GB/s", "of the roofline"}}};
  for (const Part &p : parts)
    table.rows.push_back({p.op, number(p.seconds * 1e3), fmt::format("{:.1f} %", 100 * p.seconds / step),
                          fmt::format("{:.0f}", p.calls), number(p.flops * 1e-9), number(p.flops / p.seconds * 1e-9),
                          number(p.bytes / p.seconds * 1e-9), fmt::format("{:.0f} %", 100 * p.roofline / p.seconds)});
  table.print();
}

nlohmann::json toJson(const std::vector<Part> &parts) {
  nlohmann::json list = nlohmann::json::array();
  for (const Part &p : parts)
    list.push_back({{"op", p.op},
                    {"seconds", p.seconds},
                    {"calls", p.calls},
                    {"flops", p.flops},
                    {"bytes", p.bytes},
                    {"roofline_seconds", p.roofline}});
  return list;
}

/// Our program on a pool of one thread, what this pool could do, and where the time goes.
struct OneThread {
  std::unique_ptr<rt::ThreadPool> pool;
  Machine machine;
  rt::Profile profile;
};

/// What is measured beside our program: a peer that trains the dense model, ours with everything in f32, or the very
/// same on one thread.
struct Rival {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::optional<TrainingProgram> inF32;
  std::optional<OneThread> oneThread;
  double memory = 0; ///< bytes at most
  Series times = {};

  rt::Expected<double> step(TrainingProgram &ours, bool counts) {
    if (peer)
      return peer->run(0, "step");
    if (inF32)
      return inF32->step();
    return ours.stepOn(*oneThread->pool, counts ? &oneThread->profile : nullptr);
  }
};

/// The program in f32 and what it adds to the memory of this process.
rt::Expected<Rival> startInF32(rt::TrainOptions train, const nlohmann::json &model, rt::ThreadPool &pool) {
  int64_t before = rt::residentBytes();
  train.dtype = rt::Storage::F32;
  auto program = TrainingProgram::create(train, model, pool);
  if (!program)
    return std::unexpected(program.error());
  if (auto first = program->step(); !first)
    return std::unexpected(first.error());
  return Rival{"smet in f32", nullptr, std::move(*program), std::nullopt, double(rt::residentBytes() - before)};
}

/// One thread for `ours`, which takes no memory beyond its own.
rt::Expected<Rival> startOnOneThread(const TrainingProgram &ours, double memory) {
  auto pool = rt::ThreadPool::create(1);
  if (!pool)
    return std::unexpected(pool.error());
  Machine machine = Machine::measure(**pool);
  OneThread oneThread{std::move(*pool), machine, rt::Profile(ours.manifest().calls.at("train_step"))};
  return Rival{"smet on 1 thread", nullptr, std::nullopt, std::move(oneThread), memory};
}

rt::Status check(const std::vector<std::string> &baselines, int threads) {
  for (const std::string &baseline : baselines) {
    if (baseline == "1-thread" && threads == 1)
      return rt::fail("--baseline 1-thread: the step itself runs on one thread; give more with --threads");
    if (baseline != "f32" && baseline != "1-thread" && baseline.find('=') == std::string::npos)
      return rt::fail(
          "--baseline {}: beside a training step go NAME=COMMAND, a program that trains the model (such as "
          "benchmarks/peers/torch_step.py), f32 and 1-thread; libraries multiply only, for linear and layer",
          baseline);
  }
  return Peer::checkNames(baselines);
}

rt::Expected<Rival> startPeer(const std::string &baseline, const StepOptions &options, int threads) {
  nlohmann::json job = {{"model", options.model},
                        {"batch", options.train.batchSize},
                        {"seq_len", options.train.seqLen},
                        {"threads", threads}};
  auto peer = Peer::start(baseline, job);
  if (!peer)
    return std::unexpected(peer.error());
  std::string name = (*peer)->name();
  return Rival{std::move(name), std::move(*peer), std::nullopt, std::nullopt};
}

/// `memory` is that of `ours`.
rt::Expected<std::vector<Rival>> startRivals(const StepOptions &options, const TrainingProgram &ours, double memory,
                                             rt::ThreadPool &pool) {
  std::vector<Rival> rivals;
  for (const std::string &baseline : options.baselines) {
    auto rival = baseline == "f32"        ? startInF32(options.train, options.model, pool)
                 : baseline == "1-thread" ? startOnOneThread(ours, memory)
                                          : startPeer(baseline, options, pool.threads());
    if (!rival)
      return std::unexpected(rival.error());
    rivals.push_back(std::move(*rival));
  }
  return rivals;
}

/// Ours and the rivals' steps in turn. First ones, which touch new memory or bring it back to the caches, are not
/// among them.
rt::Expected<Series> measure(TrainingProgram &program, std::vector<Rival> &rivals, int64_t steps,
                             rt::Profile &profile) {
  Series times;
  for (int64_t step = 0; step <= steps; ++step) {
    auto seconds = program.step(step > 0 ? &profile : nullptr);
    if (!seconds)
      return std::unexpected(seconds.error());
    if (step > 0)
      times.samples.push_back(*seconds);
    for (Rival &rival : rivals) {
      auto theirs = rival.step(program, step > 0);
      if (!theirs)
        return std::unexpected(theirs.error());
      if (step > 0)
        rival.times.samples.push_back(*theirs);
    }
  }
  for (Rival &rival : rivals) {
    if (!rival.peer)
      continue;
    auto memory = rival.peer->run(0, "memory");
    if (!memory)
      return std::unexpected(memory.error());
    rival.memory = *memory;
  }
  return times;
}

void print(const Series &times, double memory, const std::vector<Rival> &rivals) {
  Table table{{{"", "ms a step", "memory MB", "time over smet's"}}};
  auto add = [&](const std::string &name, const Series &series, double bytes, const std::string &ratio) {
    table.rows.push_back({name, spread(series, 1e3), fmt::format("{:.0f}", bytes / 1e6), ratio});
  };
  add("smet", times, memory, "");
  for (const Rival &rival : rivals)
    add(rival.name, rival.times, rival.memory, spread(rival.times / times));
  table.print();
}

nlohmann::json toJson(const std::vector<Rival> &rivals, const Series &times, int64_t steps) {
  nlohmann::json list = nlohmann::json::array();
  for (const Rival &rival : rivals) {
    nlohmann::json &entry = list.emplace_back(nlohmann::json{{"name", rival.name},
                                                             {"step_seconds", bench::toJson(rival.times)},
                                                             {"over_smet", bench::toJson(rival.times / times)},
                                                             {"peak_bytes", rival.memory}});
    if (const auto &one = rival.oneThread) {
      entry["machine"] = one->machine.toJson();
      entry["ops"] = toJson(partsOf(one->profile, steps, one->machine));
    }
  }
  return list;
}

} // namespace

rt::Expected<int> runStep(const StepOptions &options, const std::string &title) {
  const rt::TrainOptions &train = options.train;
  auto pool = rt::ThreadPool::create(int(train.threads));
  if (!pool)
    return std::unexpected(pool.error());
  if (rt::Status sound = check(options.baselines, (*pool)->threads()); !sound)
    return std::unexpected(sound.error());
  Machine machine = Machine::measure(**pool);
  rt::print("{}\n{}, method {} in {}, compiled for {}, {} x {} tokens, {} steps\n\n", machine.describe(), title,
            name(train.method), name(train.dtype), train.cpu, train.batchSize, train.seqLen, options.steps);
  std::fflush(stdout);

  PeakMemory peak; // without the arrays of Machine::measure
  auto program = TrainingProgram::create(train, options.model, **pool);
  if (!program)
    return std::unexpected(program.error());
  for (int i = 0; i < 2; ++i)
    if (auto first = program->step(); !first)
      return std::unexpected(first.error());
  double memory = peak.bytes();
  auto rivals = startRivals(options, *program, memory, **pool);
  if (!rivals)
    return std::unexpected(rivals.error());
  rt::Profile profile(program->manifest().calls.at("train_step"));
  auto times = measure(*program, *rivals, options.steps, profile);
  if (!times)
    return std::unexpected(times.error());

  std::vector<Part> parts = partsOf(profile, options.steps, machine);
  print(parts);
  rt::print("\n");
  print(*times, memory, *rivals);
  nlohmann::json json = {{"title", title},
                         {"machine", machine.toJson()},
                         {"config", program->manifest().config},
                         {"cpu", program->manifest().cpu},
                         {"threads", (*pool)->threads()},
                         {"step_seconds", toJson(*times)},
                         {"arena_bytes", program->manifest().arenaBytes},
                         {"peak_bytes", memory},
                         {"ops", toJson(parts)},
                         {"rivals", toJson(*rivals, *times, options.steps)}};
  if (rt::Status written = writeResults(json, options.json); !written)
    return std::unexpected(written.error());
  return 0;
}

} // namespace smet::bench
