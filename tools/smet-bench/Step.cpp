//===- Step.cpp - smet-bench step -----------------------------------------===//
#include "Step.h"

#include "Machine.h"
#include "Peer.h"
#include "Table.h"
#include "TrainingProgram.h"

#include "runtime/support/Print.h"

#include <fstream>
#include <optional>
#include <unistd.h>

namespace smet::bench {
namespace {

/// An op's part of a step.
struct Part {
  std::string op;
  double seconds, calls, flops, bytes; ///< of one step
  double roofline;                     ///< seconds at the machine's limits
  bool isSparseLinear() const { return op == "smet.spmm" || op == "smet.sddmm" || op == "smet.sddmm_adam"; }
};

std::vector<Part> partsOf(const rt::Profile &profile, int64_t steps, const Machine &machine) {
  std::vector<Part> parts;
  for (const rt::Profile::Row &row : profile.byOp()) {
    double n = double(steps), flops = double(row.flops) / n, bytes = double(row.bytes) / n;
    double roofline = std::max(flops / machine.fmaPeak, bytes / machine.bandwidth());
    parts.push_back({row.name, row.seconds / n, double(row.calls) / n, flops, bytes, roofline});
  }
  return parts;
}

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

void print(const std::vector<Part> &parts, double step) {
  Table table{{{"op", "ms", "share", "calls", "GFLOP", "GFLOP/s", "GB/s", "of the roofline"}}};
  for (const Part &p : parts)
    table.rows.push_back({p.op, fmt::format("{:.2f}", p.seconds * 1e3), fmt::format("{:.1f} %", 100 * p.seconds / step),
                          fmt::format("{:.0f}", p.calls), fmt::format("{:.2f}", p.flops * 1e-9),
                          fmt::format("{:.1f}", p.flops / p.seconds * 1e-9),
                          fmt::format("{:.1f}", p.bytes / p.seconds * 1e-9),
                          fmt::format("{:.0f} %", 100 * p.roofline / p.seconds)});
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

/// Bytes of this process in memory.
double residentBytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * double(sysconf(_SC_PAGESIZE));
}

/// What is measured beside our program: a peer that trains the dense model, or ours with everything in f32.
struct Rival {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::optional<TrainingProgram> inF32;
  Series times;
  double memory = 0; ///< resident bytes at most

  rt::Expected<double> step() { return inF32 ? inF32->step() : peer->run(0, "step"); }
};

/// The program in f32 and what it adds to the memory of this process.
rt::Expected<Rival> startInF32(rt::TrainOptions train, const nlohmann::json &model, rt::ThreadPool &pool) {
  double before = residentBytes();
  train.dtype = rt::Storage::F32;
  auto program = TrainingProgram::create(train, model, pool);
  if (!program)
    return std::unexpected(program.error());
  if (auto first = program->step(); !first)
    return std::unexpected(first.error());
  return Rival{"smet in f32", nullptr, std::move(*program), {}, residentBytes() - before};
}

rt::Status check(const std::vector<std::string> &baselines) {
  for (const std::string &baseline : baselines)
    if (baseline != "f32" && baseline.find('=') == std::string::npos)
      return rt::fail("--baseline {}: beside a training step go NAME=COMMAND, a program that trains the model (such as "
                      "benchmarks/peers/torch_step.py), and f32; libraries multiply only, for linear and layer",
                      baseline);
  return {};
}

rt::Expected<std::vector<Rival>> startRivals(const StepOptions &options, rt::ThreadPool &pool) {
  const rt::TrainOptions &train = options.train;
  nlohmann::json job = {
      {"model", options.model}, {"batch", train.batchSize}, {"seq_len", train.seqLen}, {"threads", pool.threads()}};
  std::vector<Rival> rivals;
  for (const std::string &baseline : options.baselines) {
    if (baseline == "f32") {
      auto rival = startInF32(train, options.model, pool);
      if (!rival)
        return std::unexpected(rival.error());
      rivals.push_back(std::move(*rival));
      continue;
    }
    auto peer = Peer::start(baseline, job);
    if (!peer)
      return std::unexpected(peer.error());
    std::string name = (*peer)->name();
    rivals.push_back({std::move(name), std::move(*peer), std::nullopt, {}, 0});
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
      auto theirs = rival.step();
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

nlohmann::json toJson(const std::vector<Rival> &rivals, const Series &times) {
  nlohmann::json list = nlohmann::json::array();
  for (const Rival &rival : rivals)
    list.push_back({{"name", rival.name},
                    {"step_seconds", bench::toJson(rival.times)},
                    {"over_smet", bench::toJson(rival.times / times)},
                    {"resident_bytes", rival.memory}});
  return list;
}

} // namespace

rt::Expected<int> runStep(const StepOptions &options, const std::string &title) {
  const rt::TrainOptions &train = options.train;
  if (rt::Status sound = check(options.baselines); !sound)
    return std::unexpected(sound.error());
  auto pool = rt::ThreadPool::create(int(train.threads));
  if (!pool)
    return std::unexpected(pool.error());
  Machine machine = Machine::measure(**pool);
  rt::print("{}\n{}, method {} in {}, compiled for {}, {} x {} tokens, {} steps\n\n", machine.describe(), title,
            name(train.method), name(train.dtype), train.cpu, train.batchSize, train.seqLen, options.steps);
  std::fflush(stdout);

  auto program = TrainingProgram::create(train, options.model, **pool);
  if (!program)
    return std::unexpected(program.error());
  if (auto first = program->step(); !first)
    return std::unexpected(first.error());
  double memory = residentBytes();
  auto rivals = startRivals(options, **pool);
  if (!rivals)
    return std::unexpected(rivals.error());
  rt::Profile profile(program->manifest().calls.at("train_step"));
  auto times = measure(*program, *rivals, options.steps, profile);
  if (!times)
    return std::unexpected(times.error());

  std::vector<Part> parts = partsOf(profile, options.steps, machine);
  Part all = sum(parts, "step", [](const Part &) { return true; });
  Part rest = sum(parts, "outside the sparse linears", [](const Part &p) { return !p.isSparseLinear(); });
  std::vector<Part> rows = parts;
  rows.push_back(rest);
  rows.push_back(all);
  print(rows, all.seconds);
  rt::print("\n");
  print(*times, memory, *rivals);
  nlohmann::json json = {{"title", title},
                         {"machine", machine.toJson()},
                         {"config", program->manifest().config},
                         {"cpu", program->manifest().cpu},
                         {"threads", (*pool)->threads()},
                         {"step_seconds", toJson(*times)},
                         {"arena_bytes", program->manifest().arenaBytes},
                         {"resident_bytes", memory},
                         {"ops", toJson(rows)},
                         {"rivals", toJson(*rivals, *times)}};
  if (rt::Status written = writeResults(json, options.json); !written)
    return std::unexpected(written.error());
  return 0;
}

} // namespace smet::bench
