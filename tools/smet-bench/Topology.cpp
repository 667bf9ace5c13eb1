//===- Topology.cpp - smet-bench topology ---------------------------------===//
#include "Topology.h"

#include "Table.h"
#include "TrainingProgram.h"

#include "runtime/support/Print.h"

namespace smet::bench {

/// Seconds of `count` runs; a first one is not among them.
static rt::Expected<Series> repeat(int64_t count, auto &&run) {
  Series times;
  for (int64_t i = 0; i <= count; ++i) {
    rt::Expected<double> seconds = run(i > 0);
    if (!seconds)
      return std::unexpected(seconds.error());
    if (i > 0)
      times.samples.push_back(*seconds);
  }
  return times;
}

rt::Expected<int> runTopology(const StepOptions &options, const std::string &title) {
  const rt::TrainOptions &train = options.train;
  if (train.method != rt::Method::Smet)
    return rt::fail("--method {} has no topology updates", name(train.method));
  auto pool = rt::ThreadPool::create(int(train.threads));
  if (!pool)
    return std::unexpected(pool.error());
  rt::print("{}, compiled for {}, blocks {}x{}, density {}, prune rate {}, {} threads, {} updates: median "
            "(least..most)\n\n",
            title, train.cpu, train.block.rows, train.block.cols, train.density, train.pruneRate, (*pool)->threads(),
            options.steps);
  std::fflush(stdout);
  auto program = TrainingProgram::create(train, options.model, **pool);
  if (!program)
    return std::unexpected(program.error());

  rt::Profile profile(program->manifest().calls.at("update_topology"));
  auto updates = repeat(options.steps, [&](bool counts) {
    return program->updateTopology(train.pruneRate, counts ? &profile : nullptr);
  });
  if (!updates)
    return std::unexpected(updates.error());
  auto steps = repeat(2, [&](bool) { return program->step(); });
  if (!steps)
    return std::unexpected(steps.error());

  Table table{{{"part", "ms", "share"}}};
  nlohmann::json parts = nlohmann::json::object();
  double total = 0;
  for (const rt::Profile::Row &row : profile.byOp())
    total += row.seconds;
  for (const rt::Profile::Row &row : profile.byOp()) {
    double seconds = row.seconds / double(options.steps);
    table.rows.push_back({row.name, number(seconds * 1e3), fmt::format("{:.0f} %", 100 * row.seconds / total)});
    parts[row.name] = seconds;
  }
  table.print();
  double between = steps->median() * double(train.updateEvery), share = updates->median() / between;
  rt::print("\nan update: {} ms; a step: {} ms, {} of them between updates: {:.2f} %\n", spread(*updates, 1e3),
            spread(*steps, 1e3), train.updateEvery, 100 * share);
  nlohmann::json json = {{"title", title},
                         {"config", program->manifest().config},
                         {"cpu", program->manifest().cpu},
                         {"threads", (*pool)->threads()},
                         {"update_seconds", toJson(*updates)},
                         {"step_seconds", toJson(*steps)},
                         {"share", share},
                         {"parts", parts}};
  if (rt::Status written = writeResults(json, options.json); !written)
    return std::unexpected(written.error());
  return 0;
}

} // namespace smet::bench
