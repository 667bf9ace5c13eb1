//===- Linear.cpp - smet-bench linear and layer ---------------------------===//
#include "Linear.h"

#include "Machine.h"
#include "Peer.h"
#include "SparseLayers.h"
#include "Table.h"

#include "runtime/support/Print.h"

#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

namespace smet::bench {
namespace {

struct Contender {
  std::string name;
  std::function<rt::Expected<double>(size_t layer, Op op)> run;
  std::vector<Series> times; ///< of the job, an op each
};

/// One round: every layer and op by all contenders in turn. The first round of all only warms up.
rt::Status measureRound(const Job &job, const std::vector<Op> &wanted, std::vector<Contender> &contenders, bool keep) {
  std::vector<std::vector<double>> sums(contenders.size(), std::vector<double>(wanted.size()));
  for (size_t layer = 0; layer < job.layers.size(); ++layer)
    for (size_t i = 0; i < contenders.size(); ++i)
      for (size_t j = 0; j < wanted.size(); ++j) {
        auto seconds = contenders[i].run(layer, wanted[j]);
        if (!seconds)
          return std::unexpected(seconds.error());
        sums[i][j] += *seconds;
      }
  for (size_t i = 0; keep && i < contenders.size(); ++i)
    for (size_t j = 0; j < wanted.size(); ++j)
      contenders[i].times[j].samples.push_back(sums[i][j]);
  return {};
}

Series total(const Contender &contender) {
  Series sum;
  for (const Series &times : contender.times)
    sum += times;
  return sum;
}

/// Milliseconds of every contender, then how much longer the others take than the first one, smet.
void printResults(const Job &job, const std::vector<Op> &wanted, const std::vector<Contender> &contenders,
                  double fmaPeak) {
  Table times, ratios;
  auto header = [&](const char *what) {
    std::vector<std::string> row{what};
    for (Op op : wanted)
      row.emplace_back(name(op));
    if (wanted.size() > 1)
      row.emplace_back("all");
    return row;
  };
  auto row = [&](const std::string &label, const std::function<std::string(const Series &)> &text, auto &&seriesOf) {
    std::vector<std::string> cells{label};
    for (size_t j = 0; j < wanted.size(); ++j)
      cells.push_back(text(seriesOf(j)));
    if (wanted.size() > 1)
      cells.push_back(text(seriesOf(wanted.size())));
    return cells;
  };
  auto timesOf = [](const Contender &c, size_t j) { return j < c.times.size() ? c.times[j] : total(c); };
  times.rows.push_back(header("milliseconds"));
  ratios.rows.push_back(header("time over smet's"));
  for (const Contender &c : contenders) {
    times.rows.push_back(row(
        c.name, [](const Series &s) { return spread(s, 1e3); }, [&](size_t j) { return timesOf(c, j); }));
    if (&c != &contenders.front())
      ratios.rows.push_back(row(
          c.name, [](const Series &s) { return spread(s); },
          [&](size_t j) { return timesOf(c, j) / timesOf(contenders.front(), j); }));
  }
  size_t column = 0;
  std::vector<std::string> rate{"smet, active GFLOP/s (share of the FMA peak)"};
  for (; column < times.rows[0].size() - 1; ++column) {
    double flops = job.activeFlops() * double(column < wanted.size() ? 1 : wanted.size());
    double speed = flops / timesOf(contenders.front(), column).median();
    rate.push_back(fmt::format("{:.0f} ({:.0f} %)", speed / 1e9, 100 * speed / fmaPeak));
  }
  times.rows.push_back(rate);
  times.print();
  if (contenders.size() > 1) {
    rt::print("\n");
    ratios.print();
  }
}

nlohmann::json results(const std::vector<Op> &wanted, const std::vector<Contender> &contenders) {
  nlohmann::json list = nlohmann::json::array();
  for (const Contender &c : contenders) {
    nlohmann::json entry = {{"name", c.name}, {"seconds", nlohmann::json::object()}};
    auto add = [&](std::string_view op, const Series &series, const Series &smet) {
      entry["seconds"][std::string(op)] = toJson(series);
      entry["over_smet"][std::string(op)] = toJson(series / smet);
    };
    for (size_t j = 0; j < wanted.size(); ++j)
      add(name(wanted[j]), c.times[j], contenders.front().times[j]);
    add("all", total(c), total(contenders.front()));
    list.push_back(std::move(entry));
  }
  return list;
}

/// The divisors of `size` next to `wanted`, below (or equal) and above.
std::set<int64_t> nearestDivisors(int64_t size, int64_t wanted) {
  int64_t below = 1, above = size;
  for (int64_t d = 1; d <= size / d; ++d)
    for (int64_t divisor : {d, size / d}) {
      if (size % divisor == 0 && divisor <= wanted)
        below = std::max(below, divisor);
      if (size % divisor == 0 && divisor >= wanted)
        above = std::min(above, divisor);
    }
  return {below, above};
}

/// Blocks that divide every layer, as near as can be to those of the job.
std::string nearestBlocks(const Job &job) {
  Shape common{0, 0};
  for (const Shape &s : job.layers)
    common = {std::gcd(common.rows, s.rows), std::gcd(common.cols, s.cols)};
  std::string blocks;
  for (int64_t rows : nearestDivisors(common.rows, job.blockRows))
    for (int64_t cols : nearestDivisors(common.cols, job.blockCols))
      blocks += fmt::format("{}{}x{}", blocks.empty() ? "" : ", ", rows, cols);
  return blocks;
}

/// What the compiler would refuse in words about a module.
rt::Status checkShape(const Job &job, const Shape &s) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (s.rows > most || s.cols > most)
    return rt::fail("a {}x{} matrix is too large: there are at most {} rows and columns", s.rows, s.cols, most);
  if (s.rows % job.blockRows || s.cols % job.blockCols)
    return rt::fail("blocks of {}x{} do not divide a {}x{} matrix; the nearest blocks that divide all: {}",
                    job.blockRows, job.blockCols, s.rows, s.cols, nearestBlocks(job));
  int64_t rowBlocks = s.rows / job.blockRows, colBlocks = s.cols / job.blockCols;
  if (rowBlocks * colBlocks > most)
    return rt::fail("a {}x{} matrix has {} x {} blocks of {}x{}, more than a 32-bit index can count; use larger blocks",
                    s.rows, s.cols, rowBlocks, colBlocks, job.blockRows, job.blockCols);
  return {};
}

rt::Status check(const LinearOptions &options) {
  for (const Shape &shape : options.job.layers)
    if (rt::Status sound = checkShape(options.job, shape); !sound)
      return sound;
  for (const std::string &baseline : options.baselines) {
    if (baseline == "none" && options.baselines.size() > 1)
      return rt::fail("--baseline none stands alone; leave it or the others out");
    if (baseline == "none" || baseline == "f32")
      continue;
    if (rt::Status known = Peer::check(baseline); !known)
      return known;
  }
  return Peer::checkNames(options.baselines);
}

} // namespace

rt::Expected<int> runLinear(const LinearOptions &options, const std::string &title) {
  if (rt::Status sound = check(options); !sound)
    return std::unexpected(sound.error());
  std::vector<Op> wanted;
  for (Op op : ops)
    if (options.op == "all" || options.op == name(op))
      wanted.push_back(op);

  auto pool = rt::ThreadPool::create(int(options.job.threads));
  if (!pool)
    return std::unexpected(pool.error());
  Job job = options.job;
  job.threads = (*pool)->threads(); // for the others too
  Machine machine = Machine::measure(**pool);
  rt::print("{}\n{} in {}, compiled for {}, blocks {}x{}, density {}, {} tokens, {} rounds: median (least..most)\n\n",
            machine.describe(), title, job.dtype, job.cpu, job.blockRows, job.blockCols, job.density, job.tokens,
            options.rounds);
  std::fflush(stdout);

  rt::CompilerProcess compiler = rt::compilerFor(options.cache);
  auto layers = SparseLayers::create(job, compiler, **pool);
  if (!layers)
    return std::unexpected(layers.error());
  std::optional<SparseLayers> stored; ///< the same in f32
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<Contender> contenders;
  contenders.push_back({"smet", [&](size_t layer, Op op) { return layers->run(layer, op); }, {}});
  for (const std::string &baseline : options.baselines) {
    if (baseline == "none")
      continue;
    if (baseline == "f32") {
      Job inF32 = job;
      inF32.dtype = "f32";
      auto same = SparseLayers::create(inF32, compiler, **pool);
      if (!same)
        return std::unexpected(same.error());
      stored.emplace(std::move(*same));
      contenders.push_back({"smet in f32", [&](size_t layer, Op op) { return stored->run(layer, op); }, {}});
      continue;
    }
    auto peer = Peer::start(baseline, job.toJson());
    if (!peer)
      return std::unexpected(peer.error());
    Peer &started = *peers.emplace_back(std::move(*peer));
    contenders.push_back({started.name(), [&](size_t layer, Op op) { return started.run(layer, name(op)); }, {}});
  }
  for (Contender &contender : contenders)
    contender.times.resize(wanted.size());
  for (int64_t round = 0; round <= options.rounds; ++round)
    if (rt::Status done = measureRound(job, wanted, contenders, /*keep=*/round > 0); !done)
      return std::unexpected(done.error());

  printResults(job, wanted, contenders, machine.fmaPeak);
  nlohmann::json json = {
      {"title", title},      {"machine", machine.toJson()},       {"cpu", layers->cpu()},
      {"job", job.toJson()}, {"active_flops", job.activeFlops()}, {"results", results(wanted, contenders)}};
  if (rt::Status written = writeResults(json, options.json); !written)
    return std::unexpected(written.error());
  return 0;
}

} // namespace smet::bench
