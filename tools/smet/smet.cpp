//===- smet.cpp - train sparse LLaMA models -------------------------------===//
//
// Parses arguments, has the program compiled, and calls the runtime's commands.
//
//===----------------------------------------------------------------------===//

#include "tools/common/Cli.h"

#include "runtime/data/TokenizerTrainer.h"
#include "runtime/support/File.h"
#include "runtime/support/Interrupt.h"
#include "runtime/train/CompilerProcess.h"
#include "runtime/train/Trainer.h"

using namespace smet::rt;
using smet::cli::RunFlags;
namespace fs = std::filesystem;

namespace {

/// Where the options of a run come from besides its flags.
struct Sources {
  std::string preset, config;

  void addTo(CLI::App &app) {
    app.add_option("--preset", preset, "a shipped configuration: tiny")->type_name("NAME")->check(smet::cli::notEmpty);
    smet::cli::addConfig(app, config);
  }
};

} // namespace

static Expected<fs::path> presetFile(const std::string &preset) {
  std::error_code error;
  fs::path folder = smet::cli::presetFolder();
  fs::path file = folder / (preset + ".toml");
  if (fs::exists(file, error))
    return file;
  std::string known;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".toml")
      known += " " + entry.path().stem().string();
  return fail("--preset: there is no '{}' in {}; presets:{}", preset, folder.string(), known);
}

/// Defaults, then the resumed run, preset, file and flags.
static Expected<TrainOptions> optionsOf(const Sources &sources, const RunFlags &flags) {
  fs::path preset;
  if (!sources.preset.empty()) {
    auto file = presetFile(sources.preset);
    if (!file)
      return std::unexpected(file.error());
    preset = *file;
  }
  return smet::cli::gatherOptions({}, {preset, sources.config}, flags);
}

static Expected<fs::path> compileFor(const TrainOptions &options, const nlohmann::json &model, std::string_view kind) {
  return compilerFor(options.cacheDir.text).compile(compileRequest(options, model, kind));
}

static Expected<int> trainCommand(const Sources &sources, const RunFlags &flags) {
  Interrupt interrupt;
  auto options = optionsOf(sources, flags);
  if (!options)
    return std::unexpected(options.error());
  auto model = readModelConfig(options->model.text);
  if (!model)
    return std::unexpected(model.error());
  auto vocabulary = model->find("vocab_size");
  if (!options->dryRun)
    if (Status ready = checkTrainInputs(
            *options, vocabulary != model->end() && vocabulary->is_number_integer() ? int64_t(*vocabulary) : 0);
        !ready)
      return std::unexpected(ready.error());
  auto program = compileFor(*options, *model, "train");
  if (!program)
    return std::unexpected(program.error());
  return runTrain(*program, *options);
}

static Expected<int> compileCommand(const Sources &sources, const RunFlags &flags, const std::string &kind,
                                    const std::string &output, const std::string &dumpIr) {
  Interrupt interrupt;
  auto options = optionsOf(sources, flags);
  if (!options)
    return std::unexpected(options.error());
  auto model = readModelConfig(options->model.text);
  if (!model)
    return std::unexpected(model.error());
  CompilerProcess compiler = compilerFor(options->cacheDir.text);
  compiler.dumpIr = dumpIr;
  auto program = compiler.compile(compileRequest(*options, *model, kind));
  if (!program)
    return std::unexpected(program.error());
  auto bytes = readFile(*program);
  if (!bytes)
    return std::unexpected(bytes.error());
  if (Status written = writeFileAtomically(output, *bytes); !written)
    return std::unexpected(written.error());
  print("{}\n", output);
  return kOk;
}

/// Compiles what a checkpoint's run trained, with the model as the checkpoint knows it, for this machine. An empty
/// `cache` becomes the run's.
static Expected<fs::path> compileTrained(const fs::path &folder, std::string_view kind, fs::path &cache) {
  auto options = runOptions(folder);
  if (!options)
    return std::unexpected(options.error());
  auto checkpoint = locateCheckpoint(folder);
  if (!checkpoint)
    return std::unexpected(checkpoint.error());
  if (!*checkpoint)
    return fail("{} holds no checkpoint", folder.string());
  if (cache.empty())
    cache = options->cacheDir.text;
  options->cacheDir.text = cache.string();
  options->cpu = TrainOptions().cpu; // the run's own need not be one that this machine can run
  options->tune = false;             // not worth the wait
  const nlohmann::json program = (*checkpoint)->state.config.value("program", nlohmann::json::object());
  return compileFor(*options, program.value("model", nlohmann::json::object()), kind);
}

static Expected<int> evalCommand(EvalOptions eval) {
  Interrupt interrupt;
  auto program = compileTrained(eval.checkpoint, "train", eval.cache);
  if (!program)
    return std::unexpected(program.error());
  return runEval(*program, eval);
}

static Expected<int> generateCommand(const GenerateCommand &command, fs::path cache) {
  Interrupt interrupt;
  auto program = compileTrained(command.checkpoint, "infer", cache);
  if (!program)
    return std::unexpected(program.error());
  return runGenerate(*program, command);
}

static Expected<int> trainTokenizerCommand(const std::string &data, int64_t vocabulary, const std::string &out,
                                           bool byteFallback) {
  if (vocabulary < 1 || vocabulary > (1 << 24))
    return fail("--vocab-size must be in [1, {}], got {}", 1 << 24, vocabulary);
  auto text = TextFiles::find(data);
  if (!text)
    return std::unexpected(text.error());
  if (Status trained = trainTokenizer(*text, static_cast<int32_t>(vocabulary), out, byteFallback); !trained)
    return std::unexpected(trained.error());
  print("{}\n", out);
  return kOk;
}

int main(int argc, char **argv) {
  CLI::App app("smet trains LLaMA models whose weights are sparse from the first step to the last, and whose memory\n"
               "and time are too. Each command has its own --help.");
  app.require_subcommand(1);
  app.footer(std::string("\nStart here:\n"
                         "  smet tokenizer train --data text.txt --vocab-size 1024 --out text.model\n"
                         "  smet train --preset tiny --data text.txt --tokenizer text.model --out run\n"
                         "  smet generate --checkpoint run --prompt \"In the beginning\"\n") +
             smet::cli::kExitCodes);

  std::function<Expected<int>()> command;
  auto subcommand = [&](CLI::App &parent, const char *name, const char *help, std::function<Expected<int>()> run) {
    CLI::App *sub = parent.add_subcommand(name, help);
    sub->callback([&command, run] { command = run; });
    return sub;
  };

  Sources sources;
  RunFlags trainFlags;
  CLI::App *train =
      subcommand(app, "train", "train a model, or continue a run", [&] { return trainCommand(sources, trainFlags); });
  sources.addTo(*train);
  trainFlags.addTo(*train, [](const OptionInfo &) { return true; });
  train->footer(
      std::string("\nExamples:\n"
                  "  smet train --preset tiny --data kjv.txt --tokenizer kjv.model --out run\n"
                  "  smet train --model configs/llama_60m.json --density 0.1 --block 16x16 --batch-size 8 \\\n"
                  "      --seq-len 256 --data text/ --tokenizer t5.model --out run60 --dry-run\n"
                  "  smet train --resume --out run      continue, with the run's own configuration\n"
                  "\nThe options in effect are saved as config.toml in --out; --config reads such a file.\n") +
      smet::cli::kExitCodes);

  EvalOptions eval;
  CLI::App *evaluate = subcommand(app, "eval", "loss, perplexity and bits per character of a checkpoint",
                                  [&] { return evalCommand(eval); });
  smet::cli::addEvaluation(*evaluate, eval);

  GenerateCommand generate;
  fs::path generateCache;
  CLI::App *generator = subcommand(app, "generate", "continue a prompt with a trained model",
                                   [&] { return generateCommand(generate, generateCache); });
  smet::cli::addGeneration(*generator, generate);
  generator->add_option("--cache-dir", generateCache, "compiled programs")->type_name("DIR");
  generator->footer(
      "\nExample:\n  smet generate --checkpoint run --prompt \"And God said\" --num 3 --temperature 0.7\n");

  std::string inspected;
  CLI::App *inspect = subcommand(app, "inspect", "describe a checkpoint, a run or a program file",
                                 [&] { return runInspect(inspected); });
  inspect->add_option("PATH", inspected, "step-N folder, run folder or program file")->required();

  CLI::App *tokenizer = app.add_subcommand("tokenizer", "make a tokenizer");
  tokenizer->require_subcommand(1);
  std::string tokenizerData, tokenizerOut;
  int64_t vocabulary = 0;
  bool noByteFallback = false;
  CLI::App *tokenizerTrain = subcommand(*tokenizer, "train", "learn a SentencePiece BPE tokenizer from text", [&] {
    return trainTokenizerCommand(tokenizerData, vocabulary, tokenizerOut, !noByteFallback);
  });
  tokenizerTrain->add_option("--data", tokenizerData, "UTF-8 text file, or a folder of them")
      ->type_name("PATH")
      ->required();
  tokenizerTrain->add_option("--vocab-size", vocabulary, "pieces, as the model's vocab_size")
      ->type_name("N")
      ->required();
  tokenizerTrain->add_option("--out", tokenizerOut, "the model file to write")->type_name("FILE")->required();
  tokenizerTrain->add_flag("--no-byte-fallback", noByteFallback,
                           "no pieces for single bytes: better for small vocabularies, but characters that the text "
                           "does not have become unknown");

  Sources compileSources;
  RunFlags compileFlags;
  std::string kind = "train", output, dumpIr;
  CLI::App *compile = subcommand(app, "compile", "compile a program file, for smet-run or to look at",
                                 [&] { return compileCommand(compileSources, compileFlags, kind, output, dumpIr); });
  compileSources.addTo(*compile);
  compile->add_option("--out", output, "the program file to write")->type_name("FILE")->required();
  compile->add_option("--kind", kind, "train, or infer (prefill and decode with a cache of --seq-len positions)")
      ->type_name("KIND")
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  compile->add_option("--dump-ir", dumpIr, "write the IR after each stage there")->type_name("DIR");
  compileFlags.addTo(*compile, [](const OptionInfo &option) { return option.group == OptionGroup::Model; });
  compile->footer(
      "\nExample:\n  smet compile --model configs/llama_60m.json --block 16x16 --out 60m.smet --dump-ir ir\n");

  return smet::cli::main("smet", app, argc, argv, [&] { return command(); });
}
