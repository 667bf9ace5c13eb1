//===- Options.cpp - the table of options, its text and TOML forms --------===//

#include "runtime/train/Options.h"

#include <fmt/format.h>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <charconv>
#include <cmath>

namespace smet::rt {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::span<const OptionInfo> optionTable() {
  using O = TrainOptions;
  using enum OptionGroup;
  static constexpr OptionInfo table[] = {
      {"model", Model, "FILE", "Hugging Face LLaMA config.json, for example configs/llama_60m.json", &O::model},
      {"method", Model, "METHOD", "smet (prune and regrow), static (topology stays) or dense", &O::method},
      {"density", Model, "D", "share of active weights in q, k, v, o, gate, up and down; in (0, 1]", &O::density},
      {"block", Model, "RxC", "block of weights pruned and grown as one; 1x1 is unstructured", &O::block},
      {"dtype", Model, "TYPE", "f32, or bf16: activations and sparse weights in half the memory, computed in f32",
       &O::dtype},
      {"warmup-updates", Model, "W", "optimizer steps over which a regrown block warms up; 0 or 1: off",
       &O::warmupUpdates},
      {"batch-size", Model, "N", "sequences a step", &O::batchSize},
      {"seq-len", Model, "N", "tokens a sequence", &O::seqLen},
      {"beta1", Model, "B", "decay of Adam's first moment", &O::beta1},
      {"beta2", Model, "B", "decay of Adam's second moment", &O::beta2},
      {"eps", Model, "E", "Adam's epsilon", &O::eps},
      {"weight-decay", Model, "D", "decoupled weight decay (AdamW)", &O::weightDecay},
      {"target", Model, "TARGET",
       "cpu; cuda (an NVIDIA GPU); gpu-emulator (its kernels, run here: slow); or reference (slow; defines the "
       "meaning)",
       &O::target},
      {"cpu", Model, "NAME", "processor to compile for, as LLVM names it: x86-64-v3, znver4, ...; host: this machine",
       &O::cpu},
      {"chip", Model, "NAME", "with --target cuda, what to compile kernels for: sm_80 (A100), sm_90a (H100, H200), ...",
       &O::chip},
      {"check", Model, "",
       "with --target gpu-emulator, look for races, missing waits and accesses out of bounds; slower", &O::check},
      {"tune", Model, "", "measure the kernels of each sparse product on this machine and take the fastest; cached",
       &O::tune},
      {"cache-dir", Model, "DIR", "compiled programs and tokenised data; default $XDG_CACHE_HOME/smet or ~/.cache/smet",
       &O::cacheDir},

      {"data", Data, "PATH", "UTF-8 text file, or a folder of them", &O::data},
      {"tokenizer", Data, "FILE", "SentencePiece model; `smet tokenizer train` makes one", &O::tokenizer},

      {"steps", Schedule, "N", "optimizer steps of the whole schedule", &O::steps},
      {"lr", Schedule, "LR", "peak learning rate", &O::lr},
      {"lr-schedule", Schedule, "KIND", "cosine, linear, constant or wsd (stable, then linear in the last 20 %)",
       &O::lrSchedule},
      {"lr-warmup", Schedule, "SHARE", "share of the steps with linear warm-up", &O::lrWarmup},
      {"lr-final", Schedule, "SHARE", "last learning rate, as a share of the peak", &O::lrFinal},

      {"update-every", Topology, "N", "steps between topology updates", &O::updateEvery},
      {"update-until", Topology, "STEP", "no topology update at or after this step; 0: the last step", &O::updateUntil},
      {"prune-rate", Topology, "R", "share of a layer's active blocks replaced by the first updates", &O::pruneRate},
      {"prune-rate-final", Topology, "R", "the same at the end", &O::pruneRateFinal},
      {"prune-schedule", Topology, "KIND", "cosine, linear, constant or wsd", &O::pruneSchedule},

      {"out", Run, "DIR", "folder of checkpoints, metrics.jsonl and config.toml", &O::out},
      {"seed", Run, "N", "seed of weights, topology and data order; same seed, same bits", &O::seed},
      {"threads", Run, "N", "threads; 0: all processors. Any number gives the same bits", &O::threads},
      {"log-every", Run, "N", "steps between lines of progress when the output is no terminal", &O::logEvery},
      {"eval-every", Run, "N", "steps between evaluations on the held-out 5 %; 0: at the end only", &O::evalEvery},
      {"eval-batches", Run, "N", "batches an evaluation reads; 0: all", &O::evalBatches},
      {"save-every", Run, "N", "steps between checkpoints; 0: at the end only", &O::saveEvery},
      {"keep", Run, "N", "checkpoints kept, newest first", &O::keep},

      {"stop-after", Once, "STEP", "stop after this step of the schedule, saved, to be resumed; 0: do not",
       &O::stopAfter},
      {"resume", Once, "auto|DIR", "continue the run in --out if there is one (auto), or the run in DIR", &O::resume},
      {"dry-run", Once, "", "print the plan (parameters, memory, FLOPs a step) and stop", &O::dryRun},
  };
  return table;
}

std::string_view title(OptionGroup group) {
  switch (group) {
  case OptionGroup::Model:
    return "Model and method (compiled into the program)";
  case OptionGroup::Data:
    return "Data";
  case OptionGroup::Schedule:
    return "Learning rate";
  case OptionGroup::Topology:
    return "Topology updates";
  case OptionGroup::Run:
    return "Run";
  case OptionGroup::Once:
    return "This call";
  }
  return "";
}

const OptionInfo *findOption(std::string_view name) {
  for (const OptionInfo &option : optionTable())
    if (option.name == name)
      return &option;
  return nullptr;
}

bool appliesTo(const OptionInfo &option, Method method) {
  bool regrows = option.group == OptionGroup::Topology || option.name == "warmup-updates";
  bool sparse = option.name == "density" || option.name == "block" || option.name == "tune";
  return method == Method::Smet || (!regrows && (!sparse || method == Method::Static));
}

//===----------------------------------------------------------------------===//
// Text of one value
//===----------------------------------------------------------------------===//

template <typename E> struct Named {
  std::string_view text;
  E value;
};
static constexpr Named<Method> kMethods[] = {
    {"smet", Method::Smet}, {"static", Method::Static}, {"dense", Method::Dense}};
static constexpr Named<Target> kTargets[] = {{"cpu", Target::Cpu},
                                             {"reference", Target::Reference},
                                             {"cuda", Target::Cuda},
                                             {"gpu-emulator", Target::GpuEmulator}};
static constexpr Named<Storage> kStorages[] = {{"f32", Storage::F32}, {"bf16", Storage::BF16}};
static constexpr Named<Schedule> kSchedules[] = {{"cosine", Schedule::Cosine},
                                                 {"linear", Schedule::Linear},
                                                 {"constant", Schedule::Constant},
                                                 {"wsd", Schedule::Wsd}};

static std::span<const Named<Method>> names(Method) { return kMethods; }
static std::span<const Named<Target>> names(Target) { return kTargets; }
static std::span<const Named<Storage>> names(Storage) { return kStorages; }
static std::span<const Named<Schedule>> names(Schedule) { return kSchedules; }

template <typename E> static std::string_view nameOf(E value) {
  for (const Named<E> &entry : names(value))
    if (entry.value == value)
      return entry.text;
  return "?";
}
std::string_view name(Method method) { return nameOf(method); }
std::string_view name(Target target) { return nameOf(target); }
std::string_view name(Storage dtype) { return nameOf(dtype); }
std::string_view name(Schedule schedule) { return nameOf(schedule); }

template <typename E>
requires std::is_enum_v<E>
static Status parse(std::string_view text, E &value) {
  std::string known;
  for (const Named<E> &entry : names(E{})) {
    if (entry.text == text) {
      value = entry.value;
      return {};
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.text);
  }
  return fail("expected one of {}, got '{}'", known, text);
}

template <typename T> static bool parseAll(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

static Status parse(std::string_view text, int64_t &value) {
  if (!parseAll(text, value))
    return fail("expected a whole number, got '{}'", text);
  return {};
}

static Status parse(std::string_view text, double &value) {
  if (!parseAll(text, value) || !std::isfinite(value))
    return fail("expected a number, got '{}'", text);
  return {};
}

static Status parse(std::string_view text, bool &value) {
  if (text != "true" && text != "false")
    return fail("expected true or false, got '{}'", text);
  value = text == "true";
  return {};
}

static Status parse(std::string_view text, std::string &value) {
  if (text.empty())
    return fail("expected a name");
  value = text;
  return {};
}

static Status parse(std::string_view text, Path &value) {
  value.text = text;
  return {};
}

static Status parse(std::string_view text, BlockShape &value) {
  BlockShape block;
  size_t x = text.find('x');
  if (x == std::string_view::npos || !parseAll(text.substr(0, x), block.rows) ||
      !parseAll(text.substr(x + 1), block.cols) || block.rows < 1 || block.cols < 1)
    return fail("expected ROWSxCOLS such as 16x16, got '{}'", text);
  value = block;
  return {};
}

static std::string print(const std::string &value) { return value; }
static std::string print(const Path &value) { return value.text; }
static std::string print(const BlockShape &value) { return fmt::format("{}x{}", value.rows, value.cols); }
template <typename T> static std::string print(const T &value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(nameOf(value));
  else
    return fmt::format("{}", value);
}

Status setOption(TrainOptions &options, const OptionInfo &option, std::string_view text) {
  return std::visit([&](auto field) { return parse(text, options.*field); }, option.field);
}

std::string optionText(const TrainOptions &options, const OptionInfo &option) {
  return std::visit([&](auto field) { return print(options.*field); }, option.field);
}

//===----------------------------------------------------------------------===//
// TOML
//===----------------------------------------------------------------------===//

static bool isPath(const OptionInfo &option) { return std::holds_alternative<Path TrainOptions::*>(option.field); }
static bool isQuoted(const OptionInfo &option) {
  return !std::holds_alternative<int64_t TrainOptions::*>(option.field) &&
         !std::holds_alternative<double TrainOptions::*>(option.field) &&
         !std::holds_alternative<bool TrainOptions::*>(option.field);
}

/// The text of a TOML value of the option's type.
static Expected<std::string> scalarText(const toml::node &node, const OptionInfo &option) {
  if (isQuoted(option)) {
    if (auto text = node.value_exact<std::string>())
      return *text;
    return fail("expected a string in quotes");
  }
  if (auto flag = node.value_exact<bool>())
    return fmt::format("{}", *flag);
  if (auto whole = node.value_exact<int64_t>())
    return fmt::format("{}", *whole);
  if (auto real = node.value_exact<double>())
    return fmt::format("{}", *real);
  return fail("expected a number, or true or false, without quotes");
}

static bool isResumeAuto(const OptionInfo &option, std::string_view text) {
  return option.name == "resume" && text == "auto";
}

static Status setFromToml(TrainOptions &options, const OptionInfo &option, const toml::node &node,
                          const fs::path &folder) {
  Expected<std::string> text = scalarText(node, option);
  if (!text)
    return std::unexpected(text.error());
  if (isPath(option) && !text->empty() && !isResumeAuto(option, *text))
    *text = (folder / *text).lexically_normal().string();
  return setOption(options, option, *text);
}

/// Edit distance, to suggest the key that was meant.
static size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substitute}));
    }
  }
  return row.back();
}

static std::string suggestion(std::string_view key) {
  const OptionInfo *best = nullptr;
  size_t bestDistance = 4;
  for (const OptionInfo &option : optionTable())
    if (size_t d = distance(key, option.name); d < bestDistance) {
      best = &option;
      bestDistance = d;
    }
  return best ? fmt::format("; did you mean '{}'?", best->name) : "; `smet train --help` lists the keys";
}

Status readToml(TrainOptions &options, const fs::path &file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    return fail("{}: no such configuration file", file.string());
  toml::parse_result parsed = toml::parse_file(file.string());
  if (!parsed)
    return fail("{}:{}: {}", file.string(), parsed.error().source().begin.line, parsed.error().description());
  for (auto &&[key, node] : parsed.table()) {
    auto line = node.source().begin.line;
    const OptionInfo *option = findOption(key.str());
    if (!option)
      return fail("{}:{}: unknown key '{}'{}", file.string(), line, key.str(), suggestion(key.str()));
    if (Status status = setFromToml(options, *option, node, file.parent_path()); !status)
      return fail("{}:{}: {}: {}", file.string(), line, key.str(), status.error().message);
  }
  return {};
}

/// A TOML basic string.
static std::string tomlString(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", c);
    else
      result += c;
  }
  return result + '"';
}

static std::string tomlValue(const TrainOptions &options, const OptionInfo &option) {
  std::string text = optionText(options, option);
  if (isPath(option) && !text.empty())
    text = fs::absolute(text).lexically_normal().string();
  if (isQuoted(option))
    return tomlString(text);
  // TOML wants a digit after the point and has no "1e-08" ambiguity: a bare "1" would read back as a whole number.
  if (std::holds_alternative<double TrainOptions::*>(option.field) && text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

std::string writeToml(const TrainOptions &options) {
  std::string text = "# The effective configuration of this run; `smet train --config FILE` reads it.\n";
  OptionGroup group = OptionGroup::Once;
  for (const OptionInfo &option : optionTable()) {
    if (option.group == OptionGroup::Once)
      continue;
    if (option.group != group)
      text += fmt::format("\n# {}\n", title(option.group));
    group = option.group;
    text += fmt::format("{} = {}\n", option.name, tomlValue(options, option));
  }
  return text;
}

std::string changedSchedules(const TrainOptions &options, std::string_view saved) {
  std::string changes;
  for (const OptionInfo &option : optionTable()) {
    if (option.group != OptionGroup::Schedule && option.group != OptionGroup::Topology)
      continue;
    std::string start = fmt::format("\n{} = ", option.name), now = tomlValue(options, option);
    size_t at = saved.find(start);
    if (at == saved.npos)
      continue;
    std::string_view then = saved.substr(at + start.size());
    then = then.substr(0, then.find('\n'));
    if (then != now)
      changes += fmt::format("{}{} ({}, now {})", changes.empty() ? "" : ", ", option.name, then, now);
  }
  return changes;
}

//===----------------------------------------------------------------------===//
// Checks and the compiler's request
//===----------------------------------------------------------------------===//

static Status checkAtLeast(const TrainOptions &options, int64_t TrainOptions::*field, int64_t least,
                           std::string_view flag) {
  if (options.*field < least)
    return fail("--{} must be at least {}, got {}", flag, least, options.*field);
  return {};
}

/// lo <= x <= hi, or lo < x when `open`.
static Status checkRange(double x, double lo, double hi, bool open, std::string_view flag) {
  if (x > hi || x < lo || (open && x == lo))
    return fail("--{} must be in {}{}, {}], got {}", flag, open ? '(' : '[', lo, hi, x);
  return {};
}

static Status checkWholeNumbers(const TrainOptions &o) {
  using T = TrainOptions;
  const std::tuple<int64_t T::*, int64_t, std::string_view> atLeast[] = {{&T::batchSize, 1, "batch-size"},
                                                                         {&T::seqLen, 2, "seq-len"},
                                                                         {&T::warmupUpdates, 0, "warmup-updates"},
                                                                         {&T::steps, 1, "steps"},
                                                                         {&T::stopAfter, 0, "stop-after"},
                                                                         {&T::updateEvery, 1, "update-every"},
                                                                         {&T::updateUntil, 0, "update-until"},
                                                                         {&T::threads, 0, "threads"},
                                                                         {&T::logEvery, 1, "log-every"},
                                                                         {&T::evalEvery, 0, "eval-every"},
                                                                         {&T::evalBatches, 0, "eval-batches"},
                                                                         {&T::saveEvery, 0, "save-every"},
                                                                         {&T::keep, 1, "keep"},
                                                                         {&T::seed, 0, "seed"}};
  for (auto [field, least, flag] : atLeast)
    if (Status status = checkAtLeast(o, field, least, flag); !status)
      return status;
  return {};
}

Status validate(const TrainOptions &o) {
  if (Status status = checkWholeNumbers(o); !status)
    return status;
  const std::tuple<double, double, double, bool, std::string_view> ranges[] = {
      {o.density, 0, 1, true, "density"},
      {o.lr, 0, 1e3, true, "lr"},
      {o.lrWarmup, 0, 1, false, "lr-warmup"},
      {o.lrFinal, 0, 1, false, "lr-final"},
      {o.pruneRate, 0, 1, false, "prune-rate"},
      {o.pruneRateFinal, 0, 1, false, "prune-rate-final"},
      {o.beta1, 0, 0.9999999, false, "beta1"},
      {o.beta2, 0, 0.9999999, false, "beta2"},
      {o.eps, 1e-37, 1, false, "eps"}, // as f32 it must not be zero
      {o.weightDecay, 0, 1e3, false, "weight-decay"}};
  for (auto [x, lo, hi, open, flag] : ranges)
    if (Status status = checkRange(x, lo, hi, open, flag); !status)
      return status;
  if (o.tune && o.target != Target::Cpu)
    return fail("--tune chooses kernels of --target cpu; --target {} has one of each", name(o.target));
  if (o.chip != TrainOptions().chip && o.target != Target::Cuda)
    return fail("--chip is of --target cuda; leave it out");
  if (o.check && o.target != Target::GpuEmulator)
    return fail("--check is of --target gpu-emulator; leave it out");
  if (o.dtype == Storage::BF16 && o.target == Target::Reference)
    return fail("--dtype bf16 is a form of storage of --target cpu and of GPUs; the reference knows f32 only");
  if (o.stopAfter > o.steps)
    return fail("--stop-after {} is beyond the last step (--steps {})", o.stopAfter, o.steps);
  if (o.updateUntil > o.steps)
    return fail("--update-until {} is beyond the last step (--steps {})", o.updateUntil, o.steps);
  if (o.threads > TrainOptions::kMaxThreads)
    return fail("--threads must be at most {}, got {}", TrainOptions::kMaxThreads, o.threads);
  if (o.out.text.empty())
    return fail("no folder for the run: give --out DIR");
  return {};
}

nlohmann::json compileRequest(const TrainOptions &o, const nlohmann::json &model, std::string_view kind) {
  return {{"kind", kind},
          {"target", name(o.target)},
          {"cpu", o.cpu},
          {"chip", o.chip},
          {"check", o.check},
          {"tune", o.tune},
          {"model", model},
          {"method", name(o.method)},
          {"dtype", name(o.dtype)},
          {"density", o.density},
          {"block", {o.block.rows, o.block.cols}},
          {"batch", o.batchSize},
          {"seq_len", o.seqLen},
          {"warmup_updates", o.warmupUpdates},
          {"beta1", o.beta1},
          {"beta2", o.beta2},
          {"eps", o.eps},
          {"weight_decay", o.weightDecay}};
}

} // namespace smet::rt
