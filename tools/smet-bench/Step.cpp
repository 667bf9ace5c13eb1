//===- Step.cpp - smet-bench step -----------------------------------------===//
#include "Step.h"

#include "Machine.h"
#include "Table.h"

#include "runtime/cpu/Philox.h"
#include "runtime/program/Instance.h"
#include "runtime/support/Print.h"
#include "runtime/train/CompilerProcess.h"

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
    double roofline = std::max(flops / machine.fmaPeak, bytes / machine.bandwidth);
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

/// Random tokens; what pads a sequence is no target.
rt::Status setInputs(rt::Instance &instance, const rt::TrainOptions &options, int64_t vocabulary) {
  auto tokens = instance.arena().tensor<int32_t>("tokens"), targets = instance.arena().tensor<int32_t>("targets");
  if (!tokens || !targets)
    return std::unexpected((tokens ? targets : tokens).error());
  int64_t padded = int64_t(tokens->size()) / options.batchSize;
  for (size_t i = 0; i < tokens->size(); ++i) {
    bool isPadding = int64_t(i) % padded >= options.seqLen;
    uint32_t random = rt::philox4x32({uint32_t(i), 0, 0, 0}, {1, 0})[0];
    (*tokens)[i] = isPadding ? 0 : int32_t(random % vocabulary);
    (*targets)[i] = isPadding ? -1 : int32_t((random / 7) % vocabulary);
  }
  (*instance.arena().tensor<int32_t>("num_valid"))[0] = int32_t(options.batchSize * options.seqLen);
  (*instance.arena().tensor<float>("lr"))[0] = 1e-3f;
  (*instance.arena().tensor<int64_t>("seed"))[0] = options.seed;
  return {};
}

/// The steps' times; a first step, which touches the arena's pages, is not among them.
rt::Expected<Series> measure(rt::Instance &instance, int64_t steps, rt::Profile &profile) {
  Series times;
  for (int64_t step = 0; step <= steps; ++step) {
    (*instance.arena().tensor<int64_t>("step"))[0] = step + 1;
    rt::Expected<rt::Outcome> outcome = rt::Outcome::Ok;
    double seconds = secondsOf([&] { outcome = instance.run("train_step", step > 0 ? &profile : nullptr); });
    if (!outcome)
      return std::unexpected(outcome.error());
    if (*outcome != rt::Outcome::Ok)
      return rt::fail("the loss of step {} is not finite", step + 1);
    if (step > 0)
      times.samples.push_back(seconds);
  }
  return times;
}

} // namespace

rt::Expected<int> runStep(const StepOptions &options, const std::string &title) {
  const rt::TrainOptions &train = options.train;
  auto pool = rt::ThreadPool::create(int(train.threads));
  if (!pool)
    return std::unexpected(pool.error());
  Machine machine = Machine::measure(**pool);
  rt::print("{}\n{}, method {}, {} x {} tokens, {} steps\n\n", machine.describe(), title, name(train.method),
            train.batchSize, train.seqLen, options.steps);
  std::fflush(stdout);

  rt::CompilerProcess compiler{rt::findCompiler(), rt::cacheFolder(train.cacheDir.text), {}, stderr};
  auto program = compiler.compile(rt::compileRequest(train, options.model, "train"));
  if (!program)
    return std::unexpected(program.error());
  auto instance = rt::Instance::load(*program, **pool);
  if (!instance)
    return std::unexpected(instance.error());
  if (auto ready = setInputs(**instance, train, options.model.value("vocab_size", int64_t(1))); !ready)
    return std::unexpected(ready.error());
  if (auto begun = (*instance)->run("init"); !begun)
    return std::unexpected(begun.error());
  rt::Profile profile((*instance)->manifest().calls.at("train_step"));
  auto times = measure(**instance, options.steps, profile);
  if (!times)
    return std::unexpected(times.error());

  std::vector<Part> parts = partsOf(profile, options.steps, machine);
  Part all = sum(parts, "step", [](const Part &) { return true; });
  Part rest = sum(parts, "outside the sparse linears", [](const Part &p) { return !p.isSparseLinear(); });
  std::vector<Part> rows = parts;
  rows.push_back(rest);
  rows.push_back(all);
  print(rows, all.seconds);
  rt::print("\nmilliseconds a step: {}, median (least..most)\n", spread(*times, 1e3));
  nlohmann::json json = {
      {"title", title},           {"machine", machine.toJson()},    {"config", (*instance)->manifest().config},
      {"threads", train.threads}, {"step_seconds", toJson(*times)}, {"arena_bytes", (*instance)->manifest().arenaBytes},
      {"ops", toJson(rows)}};
  if (rt::Status written = writeResults(json, options.json); !written)
    return std::unexpected(written.error());
  return 0;
}

} // namespace smet::bench
