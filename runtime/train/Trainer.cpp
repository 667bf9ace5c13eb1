//===- Trainer.cpp - the training loop ------------------------------------===//

#include "runtime/train/Trainer.h"

#include "runtime/support/File.h"
#include "runtime/support/Hash.h"
#include "runtime/support/Interrupt.h"
#include "runtime/train/Metrics.h"
#include "runtime/train/TopologyStats.h"

#include <chrono>

namespace smet::rt {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

Expected<std::optional<Checkpoint>> locateCheckpoint(const fs::path &folder) {
  std::error_code error;
  if (!fs::exists(folder / "state.json", error))
    return findCheckpoint(folder);
  auto checkpoint = openCheckpoint(folder);
  if (!checkpoint)
    return std::unexpected(checkpoint.error());
  return std::optional(std::move(*checkpoint));
}

static std::vector<const TensorInfo *> tensorsOf(std::span<const TensorView> views) {
  std::vector<const TensorInfo *> tensors;
  for (const TensorView &view : views)
    tensors.push_back(view.info);
  return tensors;
}

Status loadInto(Instance &instance, const Checkpoint &checkpoint, bool complete) {
  auto views = checkpointTensors(instance.manifest(), instance.arena().base());
  if (Status loaded = loadTensors(checkpoint, views, complete); !loaded)
    return loaded;
  return instance.toDevice(tensorsOf(views));
}

namespace {

/// The program's inputs and outputs in the arena.
struct Tensors {
  std::span<int32_t> tokens, targets;
  int32_t *valid;
  int64_t *seed, *step, *update;
  float *learningRate, *loss;
  double *pruneRate;

  static Expected<Tensors> find(const Manifest &manifest, const Arena &arena) {
    Tensors t{};
    auto tokens = arena.tensor<int32_t>("tokens"), targets = arena.tensor<int32_t>("targets");
    if (!tokens || !targets)
      return fail("this is not a training program: it has no tokens and targets");
    t.tokens = *tokens;
    t.targets = *targets;
    Status status;
    auto scalar = [&]<typename T>(const char *name, T *&pointer, bool required = true) {
      if (!required && !manifest.find(name))
        return;
      if (auto found = arena.scalar<T>(name))
        pointer = *found;
      else if (status)
        status = std::unexpected(found.error());
    };
    scalar("num_valid", t.valid);
    scalar("seed", t.seed);
    scalar("step", t.step);
    scalar("lr", t.learningRate);
    scalar("loss", t.loss);
    scalar("update", t.update, false);
    scalar("prune_rate", t.pruneRate, false);
    if (!status)
      return std::unexpected(status.error());
    return t;
  }
};

class Trainer {
public:
  Trainer(const TrainInputs &in, Tensors tensors, BatchShape shape, TrainBatches train, EvalBatches validation)
      : in(in), options(in.options), tensors(tensors), shape(shape), train(train), validation(std::move(validation)),
        timer(shape.sequences * shape.seqLen) {}

  Expected<TrainResult> run();

private:
  Status start();
  Status restore(const Checkpoint &checkpoint);
  Status leaveOthers();
  Status claimFolder();
  Status checkSameProgram(const Checkpoint &checkpoint) const;
  TrainState state() const;
  Expected<Outcome> step();
  Status updateTopology(nlohmann::json &record);
  Status evaluateInto(nlohmann::json &record);
  Status save();
  void forgetBadCheckpoint();
  StepReport report() const;
  bool updatesTopology() const;
  Expected<Outcome> advance(int64_t last, MetricsLog &metrics);
  Expected<Ending> loop(MetricsLog &metrics);

  const TrainInputs &in;
  const TrainOptions &options;
  Tensors tensors;
  BatchShape shape;
  TrainBatches train;
  EvalBatches validation;
  StepTimer timer;
  ActiveBlocks initial; ///< the topology that the seed draws
  int64_t done = 0;     ///< steps
  std::optional<FolderLock> lock;
  fs::path checkpoint;   ///< the last one
  int64_t savedStep = 0; ///< its step
};

} // namespace

/// Every `interval` steps, and at the last one.
static bool isDue(int64_t step, int64_t interval, int64_t last) {
  return step == last || (interval > 0 && step % interval == 0);
}

/// Which kernels the program runs: their names are hashes of what they compute, and how.
static std::string kernelsOf(const Manifest &manifest) {
  std::string names;
  for (const auto &[entry, calls] : manifest.calls)
    for (const CallInfo &call : calls)
      names += call.callee + "\n";
  return sha256(names);
}

TrainState Trainer::state() const {
  const Manifest &manifest = in.instance.manifest();
  nlohmann::json layers = nlohmann::json::array();
  for (const SparseLayer &l : manifest.layers)
    layers.push_back(
        {{"name", l.name}, {"rows", l.rows}, {"cols", l.cols}, {"block", {l.blockRows, l.blockCols}}, {"nnz", l.nnz}});
  TrainState state;
  state.step = done;
  state.sequences = done * shape.sequences;
  state.seed = static_cast<uint64_t>(options.seed);
  state.modelHash = sha256(manifest.config.dump());
  state.tokenizerHash = in.tokenizer.hash();
  state.config = {{"program", manifest.config},   {"layers", std::move(layers)}, {"data_tokens", in.shard.size()},
                  {"target", manifest.target},    {"cpu", manifest.cpu},         {"kernels", kernelsOf(manifest)},
                  {"options", writeToml(options)}};
  state.progress = nlohmann::json::object();
  return state;
}

/// Appends "key (before, now after)" for everything that differs.
static void appendDifferences(const std::string &key, const nlohmann::json &before, const nlohmann::json &now,
                              std::string &list) {
  if (before.is_object() && now.is_object()) {
    for (auto &[name, value] : now.items())
      appendDifferences(fmt::format("{}{}{}", key, key.empty() ? "" : ".", name), before.value(name, nlohmann::json()),
                        value, list);
  } else if (before != now) {
    list += fmt::format("{}{} ({}, now {})", list.empty() ? "" : ", ", key, before.dump(), now.dump());
  }
}

/// Names what differs, which a hash cannot.
Status Trainer::checkSameProgram(const Checkpoint &saved) const {
  const nlohmann::json now = state().config, &then = saved.state.config;
  std::string differences;
  appendDifferences("", then.value("program", nlohmann::json::object()), now["program"], differences);
  if (Status same = checkSameRun(saved.state, state()); differences.empty() && !same)
    return same;
  appendDifferences("number of tokens in the data", then.value("data_tokens", nlohmann::json()), now["data_tokens"],
                    differences);
  if (!differences.empty())
    return fail("cannot resume from {}: it was trained with another {}; resume with what it was started with, or start "
                "a new run with another --out",
                saved.path.string(), differences);
  return {};
}

Status Trainer::restore(const Checkpoint &saved) {
  for (const std::string &warning : saved.warnings)
    in.progress.note("warning: " + warning);
  if (Status same = checkSameProgram(saved); !same)
    return same;
  if (Status loaded = loadInto(in.instance, saved, /*complete=*/true); !loaded)
    return loaded;
  done = savedStep = saved.state.step;
  checkpoint = saved.path;
  in.progress.note(fmt::format("resumed from {} (step {})", saved.path.string(), done));
  if (std::string changed = changedSchedules(options, saved.state.config.value("options", "")); !changed.empty())
    in.progress.note("warning: the run goes on with other settings than it was started with: " + changed);
  const std::string &cpu = in.instance.manifest().cpu;
  if (std::string before = saved.state.config.value("cpu", cpu); before != cpu)
    in.progress.note(
        fmt::format("warning: the program was compiled for the processor {} until now and is for {}: the run "
                    "goes on within rounding, not to the same bits",
                    before, cpu));
  std::string kernels = kernelsOf(in.instance.manifest());
  if (options.tune && saved.state.config.value("kernels", kernels) != kernels)
    in.progress.note("warning: sparse products take other kernels than until now, since the cache has lost their "
                     "measurements or smet is another version: the run goes on within rounding, not to the same bits");
  return {};
}

/// When a checkpoint was chosen: checkpoints of another run in --out are an error, later ones of this run are set
/// aside.
Status Trainer::leaveOthers() {
  fs::path out = options.out.text;
  std::error_code error;
  if (!fs::equivalent(fs::absolute(checkpoint, error).parent_path(), out, error)) {
    auto other = findCheckpoint(out);
    if (other && !*other)
      return {};
    return fail("{} holds another run; choose another --out", out.string());
  }
  auto later = abandonLater(out, done);
  if (!later)
    return std::unexpected(later.error());
  if (!later->empty())
    in.progress.note(
        fmt::format("the run goes back to step {}: the checkpoints of step {} are kept as abandoned-step-*", done,
                    fmt::join(*later, ", ")));
  return {};
}

Status Trainer::claimFolder() {
  fs::path out = options.out.text;
  std::error_code error;
  fs::create_directories(out, error);
  if (error)
    return fail("{}: the run's folder cannot be made: {}", out.string(), error.message());
  auto taken = FolderLock::take(out);
  if (!taken)
    return std::unexpected(taken.error());
  lock.emplace(std::move(*taken));
  return {};
}

/// Draws weights and topology from the seed, also before a resume: it gives the topology that overlaps are counted
/// with. Then loads the checkpoint, if there is one to continue.
Status Trainer::start() {
  fs::path out = options.out.text;
  if (Status claimed = claimFolder(); !claimed)
    return claimed;
  *tensors.seed = options.seed;
  if (auto outcome = in.instance.run("init"); !outcome)
    return std::unexpected(outcome.error());
  auto blocks = activeBlocks(in.instance);
  if (!blocks)
    return std::unexpected(blocks.error());
  initial = std::move(*blocks);

  bool anywhere = options.resume.text.empty() || options.resume.text == "auto";
  auto saved = locateCheckpoint(anywhere ? out : fs::path(options.resume.text));
  if (!saved)
    return std::unexpected(saved.error());
  if (*saved && options.resume.text.empty())
    return fail("{} holds a run at step {}: continue it with --resume, or choose another --out", out.string(),
                (*saved)->state.step);
  if (!*saved && !anywhere)
    return fail("{} holds no checkpoint to resume from", options.resume.text);
  if (*saved)
    if (Status restored = restore(**saved); !restored)
      return restored;
  if (!anywhere)
    if (Status alone = leaveOthers(); !alone)
      return alone;
  return writeFileAtomically(out / "config.toml", writeToml(options));
}

Expected<Outcome> Trainer::step() {
  int64_t t = done + 1;
  *tensors.valid = static_cast<int32_t>(train.fill(t, tensors.tokens, tensors.targets));
  *tensors.seed = options.seed;
  *tensors.step = t;
  *tensors.learningRate = static_cast<float>(options.learningRate().at(t));
  return in.instance.run("train_step");
}

bool Trainer::updatesTopology() const {
  return tensors.update && tensors.pruneRate && in.instance.manifest().config.value("method", "") == "smet" &&
         done % options.updateEvery == 0 && done < options.lastUpdateStep();
}

Status Trainer::updateTopology(nlohmann::json &record) {
  auto before = activeBlocks(in.instance);
  *tensors.update = done / options.updateEvery;
  *tensors.pruneRate = options.prune().at(done);
  auto outcome = in.instance.run("update_topology");
  if (!outcome)
    return std::unexpected(outcome.error());
  auto after = activeBlocks(in.instance);
  if (!before || !after)
    return std::unexpected(before ? after.error() : before.error());
  int64_t common = countCommon(*before, *after), total = std::max<int64_t>(countBlocks(initial), 1);
  record["update"] = *tensors.update;
  record["pruned"] = countBlocks(*before) - common;
  record["grown"] = countBlocks(*after) - common;
  record["overlap"] = static_cast<double>(countCommon(initial, *after)) / static_cast<double>(total);
  return {};
}

Status Trainer::evaluateInto(nlohmann::json &record) {
  auto result = evaluate(in.instance, validation, options.evalBatches);
  if (!result && result.error().signal) {
    in.progress.note(fmt::format("step {}: no validation, it was cut short", done));
    return {};
  }
  if (!result)
    return std::unexpected(result.error());
  record["val_loss"] = result->loss;
  record["val_perplexity"] = result->perplexity();
  record["val_bits_per_character"] = result->bitsPerCharacter;
  in.progress.note(fmt::format("step {}: validation {}", done, evalLine(*result)));
  return {};
}

Status Trainer::save() {
  auto views = checkpointTensors(in.instance.manifest(), in.instance.arena().base());
  if (Status copied = in.instance.toHost(tensorsOf(views)); !copied)
    return copied;
  auto saved = saveCheckpoint(options.out.text, state(), views, options.keep);
  if (!saved)
    return std::unexpected(saved.error());
  checkpoint = *saved;
  savedStep = done;
  return {};
}

/// After a loss that is not finite: a checkpoint of the steps done would only lead there again, so it is not good.
void Trainer::forgetBadCheckpoint() {
  if (checkpoint.empty() || savedStep < done)
    return;
  auto earlier = findCheckpoint(checkpoint.has_parent_path() ? checkpoint.parent_path() : ".", done);
  checkpoint = earlier && *earlier ? (*earlier)->path : fs::path();
}

StepReport Trainer::report() const {
  StepReport r;
  r.step = done;
  r.steps = options.steps;
  r.loss = *tensors.loss;
  r.learningRate = *tensors.learningRate;
  r.tokensPerSecond = timer.tokensPerSecond();
  r.msPerStep = timer.secondsPerStep() * 1e3;
  r.memoryBytes = residentBytes();
  r.etaSeconds = timer.secondsPerStep() * static_cast<double>(options.steps - done);
  return r;
}

/// One step of the schedule with what follows it: topology update, evaluation, metrics, checkpoint. An interrupt cuts
/// the evaluation short and saves.
Expected<Outcome> Trainer::advance(int64_t last, MetricsLog &metrics) {
  auto begin = Clock::now();
  auto outcome = step();
  if (!outcome || *outcome == Outcome::LossNotFinite)
    return outcome;
  ++done;
  nlohmann::json record;
  Status status;
  if (updatesTopology())
    status = updateTopology(record);
  if (!status)
    return std::unexpected(status.error());
  timer.add(std::chrono::duration<double>(Clock::now() - begin).count());

  StepReport now = report();
  record.update(toJson(now));
  in.progress.step(now);
  if (isDue(done, options.evalEvery, options.steps))
    status = evaluateInto(record);
  if (status)
    status = metrics.append(record);
  if (status && (Interrupt::signal() || isDue(done, options.saveEvery, last)))
    status = save();
  if (!status)
    return std::unexpected(status.error());
  return outcome;
}

Expected<Ending> Trainer::loop(MetricsLog &metrics) {
  int64_t last = options.stopAfter ? options.stopAfter : options.steps;
  if (done >= last)
    in.progress.note(fmt::format("nothing to do: step {} of {} is done", done, last));
  while (done < last) {
    auto outcome = advance(last, metrics);
    if (!outcome)
      return std::unexpected(outcome.error());
    if (*outcome == Outcome::LossNotFinite)
      return Ending::LossNotFinite;
    if (Interrupt::signal())
      return Ending::Interrupted;
  }
  return done < options.steps ? Ending::StoppedAfter : Ending::Finished;
}

Expected<TrainResult> Trainer::run() {
  if (Status started = start(); !started)
    return std::unexpected(started.error());
  auto metrics = MetricsLog::open(fs::path(options.out.text) / "metrics.jsonl", done);
  if (!metrics)
    return std::unexpected(metrics.error());
  if (Status going = checkInterrupt("starting"); !going)
    return std::unexpected(going.error());
  Interrupt::willDo("finishing the step and saving");
  auto ending = loop(*metrics);
  Interrupt::willDo(nullptr);
  if (!ending && checkpoint.empty())
    return std::unexpected(ending.error());
  if (!ending)
    return fail("{}\nthe last good checkpoint is {}; continue from it with --resume", ending.error().message,
                checkpoint.string());
  if (*ending == Ending::LossNotFinite)
    forgetBadCheckpoint();
  return TrainResult{*ending, done, Interrupt::signal(), checkpoint};
}

Expected<TrainResult> train(const TrainInputs &in) {
  const Manifest &manifest = in.instance.manifest();
  auto tensors = Tensors::find(manifest, in.instance.arena());
  if (!tensors)
    return std::unexpected(tensors.error());
  auto shape = batchShape(manifest);
  if (!shape)
    return std::unexpected(shape.error());
  if (static_cast<int64_t>(tensors->tokens.size()) != shape->places())
    return fail("the program's tokens have {} places, not batch x padded_seq_len = {}", tensors->tokens.size(),
                shape->places());
  auto batches = TrainBatches::create(in.shard, *shape, static_cast<uint64_t>(in.options.seed));
  if (!batches)
    return std::unexpected(batches.error());
  auto validation = EvalBatches::validation(in.shard, in.tokenizer, *shape);
  if (!validation)
    return std::unexpected(validation.error());
  return Trainer(in, *tensors, *shape, *batches, std::move(*validation)).run();
}

} // namespace smet::rt
