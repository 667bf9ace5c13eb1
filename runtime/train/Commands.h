//===- Commands.h - what smet and smet-run do -------------------*- C++ -*-===//
//
// The commands behind the two tools, which only parse arguments and print errors. `smet` gives a program that it has
// compiled, `smet-run` one from a file; nothing here compiles.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_COMMANDS_H
#define SMET_RUNTIME_TRAIN_COMMANDS_H

#include "runtime/train/Generate.h"
#include "runtime/train/Options.h"

#include <filesystem>
#include <string>

namespace smet::rt {

/// Exit codes of the tools (also 130 and 143: stopped by SIGINT or SIGTERM, saved).
enum ExitCode : int {
  kOk = 0,
  kError = 1,         ///< bad input, a full disk, a damaged file ...
  kUsage = 2,         ///< the command line is wrong
  kLossNotFinite = 3, ///< training stopped because the loss was NaN or infinite
};

/// The manifest of a program file.
Expected<Manifest> readManifest(const std::filesystem::path &program);

/// Takes what was compiled into the program (method, density, batch size ...) over into the options.
Status adoptProgram(TrainOptions &options, const Manifest &manifest);

/// Checks what training reads (data, tokenizer) before time is spent on compiling; the vocabulary must fit the model.
Status checkTrainInputs(const TrainOptions &options, int64_t modelVocabulary);

/// Trains by a training program and prints the summary: loss curve, validation, speed, memory, checkpoint.
Expected<int> runTrain(const std::filesystem::path &program, const TrainOptions &options);

struct EvalOptions {
  std::filesystem::path checkpoint, data, tokenizer, cache;
  int64_t batches = 0, threads = 0;
  bool wholeText = false; ///< all of the text, not its held-out 5 %
};
/// Loss, perplexity and bits per character of a checkpoint. Data and tokenizer are the run's where they are empty.
Expected<int> runEval(const std::filesystem::path &program, EvalOptions options);

struct GenerateCommand {
  std::filesystem::path checkpoint, tokenizer;
  std::string prompt;
  int64_t count = 1, threads = 0;
  GenerateOptions options;
};
/// Prints `count` texts, separated by blank lines. The tokenizer is the run's where it is empty.
Expected<int> runGenerate(const std::filesystem::path &program, GenerateCommand command);

/// Describes a checkpoint folder, a run folder or a program file.
Expected<int> runInspect(const std::filesystem::path &path);

/// The options that a run folder (or a checkpoint in it) was trained with, from its config.toml.
Expected<TrainOptions> runOptions(const std::filesystem::path &run);

/// A Hugging Face config.json.
Expected<nlohmann::json> readModelConfig(const std::filesystem::path &file);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_COMMANDS_H
