//===- Options.h - the options of a training run ----------------*- C++ -*-===//
//
// One table describes every option: its name, group, help and field. The command line, the TOML file of --config and
// the saved config.toml are all read and written through it, so they cannot differ. Precedence: defaults, preset,
// --config, command line.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_OPTIONS_H
#define SMET_RUNTIME_TRAIN_OPTIONS_H

#include "runtime/support/Error.h"
#include "runtime/train/Schedules.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace smet::rt {

enum class Method { Smet, Static, Dense };
enum class Target { Cpu, Reference, Cuda, GpuEmulator };
/// How activations and the weights of sparse layers are stored.
enum class Storage { F32, BF16 };

/// Sides of a block, rows x columns of the weight matrix [out, in].
struct BlockShape {
  int64_t rows = 16, cols = 16;
  bool operator==(const BlockShape &) const = default;
};

/// A path. Relative paths in a TOML file are relative to that file's folder.
struct Path {
  std::string text;
  bool operator==(const Path &) const = default;
};

struct TrainOptions {
  // What is compiled.
  Path model;
  Method method = Method::Smet;
  Target target = Target::Cpu;
  std::string cpu = "host";
  std::string chip = "sm_90a";
  bool check = false, tune = false;
  Storage dtype = Storage::F32;
  double density = 0.1;
  BlockShape block;
  int64_t batchSize = 16, seqLen = 256;
  int64_t warmupUpdates = 10;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;
  Path cacheDir;

  // Data.
  Path data, tokenizer;

  // Schedule.
  int64_t steps = 10000, stopAfter = 0;
  double lr = 1e-3, lrWarmup = 0.1, lrFinal = 0.1;
  Schedule lrSchedule = Schedule::Cosine;
  int64_t updateEvery = 100, updateUntil = 0;
  double pruneRate = 0.2, pruneRateFinal = 0.005;
  Schedule pruneSchedule = Schedule::Cosine;

  // The run.
  int64_t seed = 42, threads = 0;
  int64_t logEvery = 10, evalEvery = 500, evalBatches = 0, saveEvery = 500, keep = 3;
  Path out{"smet-out"}, resume;
  bool dryRun = false;

  bool operator==(const TrainOptions &) const = default;

  LearningRate learningRate() const { return {lrSchedule, lr, lrWarmup, lrFinal, steps}; }
  PruneRate prune() const { return {pruneSchedule, pruneRate, pruneRateFinal, steps}; }
  static constexpr int64_t kMaxThreads = 4096;

  /// The step from which the topology stays (T_end).
  int64_t lastUpdateStep() const { return updateUntil ? updateUntil : steps; }
};

using OptionField =
    std::variant<int64_t TrainOptions::*, double TrainOptions::*, bool TrainOptions::*, std::string TrainOptions::*,
                 Path TrainOptions::*, Method TrainOptions::*, Target TrainOptions::*, Storage TrainOptions::*,
                 Schedule TrainOptions::*, BlockShape TrainOptions::*>;

/// Where an option belongs in the help. Model options are compiled into the program, so `smet-run`, which is given
/// a program, has none of them; Once options belong to one call and are not saved in config.toml.
enum class OptionGroup { Model, Data, Schedule, Topology, Run, Once };

struct OptionInfo {
  std::string_view name; ///< of the flag without "--", and the TOML key
  OptionGroup group;
  std::string_view placeholder, help;
  OptionField field;
};

std::span<const OptionInfo> optionTable();
std::string_view title(OptionGroup group);
const OptionInfo *findOption(std::string_view name);

/// Whether the option changes anything in a run by that method: prune and regrow belong to smet, a density, blocks
/// and the choice of their kernels to sparse layers.
bool appliesTo(const OptionInfo &option, Method method);

/// Reads `text` into the option's field. The error says what was expected, without naming the option.
Status setOption(TrainOptions &options, const OptionInfo &option, std::string_view text);
/// The field's value as setOption reads it.
std::string optionText(const TrainOptions &options, const OptionInfo &option);

/// Applies a TOML file over `options`. Errors name file and line: unreadable, not TOML, unknown key, bad value.
Status readToml(TrainOptions &options, const std::filesystem::path &file);
/// The whole configuration as a TOML file with one comment a group; paths absolute, so that it can be moved.
std::string writeToml(const TrainOptions &options);

/// "steps (400, now 4000)" for each schedule option that differs from `saved`, a text of writeToml.
std::string changedSchedules(const TrainOptions &options, std::string_view saved);

/// Checks ranges and combinations; the message names the flag. What depends on the model (does the block divide its
/// layers?) is the compiler's to check.
Status validate(const TrainOptions &options);

/// The compiler's request for this configuration; `model` is the Hugging Face config, `kind` "train" or "infer".
nlohmann::json compileRequest(const TrainOptions &options, const nlohmann::json &model, std::string_view kind);

std::string_view name(Method method);
std::string_view name(Target target);
std::string_view name(Storage dtype);
std::string_view name(Schedule schedule);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_OPTIONS_H
