//===- smet.cpp - train sparse LLaMA models -------------------------------===//
//
// Parses arguments, has the program compiled, and calls the runtime's commands.
//
//===----------------------------------------------------------------------===//

#include "tools/common/Cli.h"

#include "runtime/data/TokenizerTrainer.h"
#include "runtime/report/KernelReport.h"
#include "runtime/support/File.h"
#include "runtime/support/Interrupt.h"
#include "runtime/train/CompilerProcess.h"
#include "runtime/train/Doctor.h"
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

namespace {

/// What `smet compile` has besides the options of a run.
struct CompileFlags {
  std::string kind = "train", output, dumpIr;
  bool report = false;
  std::string gpu;  ///< that the report is for; empty: one of the chip
  std::string json; ///< the file for the report
};

} // namespace

static Expected<GPU> reportedGPU(const CompileFlags &flags, const TrainOptions &options) {
  if (options.target != Target::Cuda)
    return fail("--report tells of GPU kernels; add --target cuda");
  if (flags.gpu.empty())
    return gpuForChip(options.chip);
  if (auto gpu = findGPU(flags.gpu))
    return *gpu;
  return fail("--gpu: there is no '{}'; one of {}", flags.gpu, knownGPUs());
}

/// Prints what the compiler knows of the program's GPU kernels, or writes it.
static Status reportKernels(const fs::path &program, const GPU &gpu, const std::string &file) {
  auto manifest = readManifest(program);
  if (!manifest)
    return std::unexpected(manifest.error());
  auto kernels = readKernelReports(program);
  if (!kernels)
    return std::unexpected(kernels.error());
  if (!file.empty())
    return writeFileAtomically(file, reportJson(*manifest, *kernels, gpu).dump(2) + "\n");
  print("{}", reportText(*manifest, *kernels, gpu));
  return {};
}

static Expected<int> compileCommand(const Sources &sources, const RunFlags &flags, const CompileFlags &compile) {
  Interrupt interrupt;
  auto options = optionsOf(sources, flags);
  if (!options)
    return std::unexpected(options.error());
  std::optional<GPU> gpu;
  if (compile.report || !compile.json.empty() || !compile.gpu.empty()) {
    auto found = reportedGPU(compile, *options);
    if (!found)
      return std::unexpected(found.error());
    gpu = *found;
  }
  auto model = readModelConfig(options->model.text);
  if (!model)
    return std::unexpected(model.error());
  CompilerProcess compiler = compilerFor(options->cacheDir.text);
  compiler.dumpIr = compile.dumpIr;
  auto program = compiler.compile(compileRequest(*options, *model, compile.kind));
  if (!program)
    return std::unexpected(program.error());
  auto bytes = readFile(*program);
  if (!bytes)
    return std::unexpected(bytes.error());
  if (Status written = writeFileAtomically(compile.output, *bytes); !written)
    return std::unexpected(written.error());
  if (gpu)
    if (Status told = reportKernels(*program, *gpu, compile.json); !told)
      return std::unexpected(told.error());
  print("{}\n", compile.output);
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

  std::string examined = "cpu";
  CLI::App *doctor = subcommand(app, "doctor", "what this machine can train on, and why not",
                                [&] { return runDoctor(examined, compilerFor({})); });
  doctor->add_option("--target", examined, "the target that the exit code tells of")
      ->type_name("NAME")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  doctor->footer(
      "\nExit codes: 0 models can be trained here on the target; 1 not, the table says why; 2 wrong command line.\n");

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
  CompileFlags compileOwn;
  CLI::App *compile = subcommand(app, "compile", "compile a program file, for smet-run or to look at",
                                 [&] { return compileCommand(compileSources, compileFlags, compileOwn); });
  compileSources.addTo(*compile);
  compile->add_option("--out", compileOwn.output, "the program file to write")->type_name("FILE")->required();
  compile
      ->add_option("--kind", compileOwn.kind,
                   "train, or infer (prefill and decode with a cache of --seq-len positions)")
      ->type_name("KIND")
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  compile->add_option("--dump-ir", compileOwn.dumpIr, "write the IR after each stage there")->type_name("DIR");
  compile->add_flag(
      "--report", compileOwn.report,
      "with --target cuda, print of each kernel registers, shared memory, spills, occupancy and widths of "
      "loads, of each entry point bytes, operations and the time that they take at least");
  compile->add_option("--gpu", compileOwn.gpu, "the card that --report is for: " + knownGPUs() + "; default by --chip")
      ->type_name("NAME");
  compile->add_option("--json", compileOwn.json, "write the report there instead")->type_name("FILE");
  compileFlags.addTo(*compile, [](const OptionInfo &option) { return option.group == OptionGroup::Model; });
  compile->footer(
      "\nExamples:\n  smet compile --model configs/llama_60m.json --block 16x16 --out 60m.smet --dump-ir ir\n"
      "  smet compile --model configs/llama_60m.json --target cuda --chip sm_90a --out 60m.smet --report --gpu h200\n");

  return smet::cli::main("smet", app, argc, argv, [&] { return command(); });
}
