//===- smet-run.cpp - train and run compiled programs ---------------------===//
//
// As smet, on a program file that was compiled before; it needs no compiler.
//
//===----------------------------------------------------------------------===//

#include "tools/common/Cli.h"

using namespace smet::rt;
using smet::cli::RunFlags;

static Expected<int> trainCommand(const std::string &program, const std::string &config, const RunFlags &flags) {
  TrainOptions options;
  Status status = config.empty() ? Status() : readToml(options, config);
  if (status)
    status = flags.apply(options);
  if (status) {
    auto manifest = readManifest(program);
    status = manifest ? adoptProgram(options, *manifest) : std::unexpected(manifest.error());
  }
  if (status)
    status = validate(options);
  if (!status)
    return std::unexpected(status.error());
  return runTrain(program, options);
}

int main(int argc, char **argv) {
  CLI::App app("smet-run trains and runs program files that `smet compile` made, without a compiler.");
  app.require_subcommand(1);
  app.footer(std::string("\nExample:\n"
                         "  smet compile --preset tiny --out tiny.smet\n"
                         "  smet-run train --program tiny.smet --data kjv.txt --tokenizer kjv.model --out run\n") +
             smet::cli::kExitCodes);
  std::string program, config;
  std::function<Expected<int>()> command;
  auto subcommand = [&](const char *name, const char *help, std::function<Expected<int>()> run) {
    CLI::App *sub = app.add_subcommand(name, help);
    sub->add_option("--program", program, "program file")->type_name("FILE")->required();
    sub->callback([&command, run] { command = run; });
    return sub;
  };

  RunFlags flags;
  CLI::App *train = subcommand("train", "train by a training program, or continue a run",
                               [&] { return trainCommand(program, config, flags); });
  train->add_option("--config", config, "TOML file with the flags' names as keys; flags win over it")
      ->type_name("FILE");
  flags.addTo(*train, [](const OptionInfo &option) {
    return option.group != OptionGroup::Model || option.name == "cache-dir";
  });

  EvalOptions eval;
  CLI::App *evaluate = subcommand("eval", "loss of a checkpoint", [&] { return runEval(program, eval); });
  evaluate->add_option("--checkpoint", eval.checkpoint, "a run's folder, or one of its step-N folders")
      ->type_name("DIR")
      ->required();
  evaluate->add_option("--data", eval.data, "text")->type_name("PATH")->required();
  evaluate->add_option("--tokenizer", eval.tokenizer, "SentencePiece model")->type_name("FILE")->required();
  evaluate->add_flag("--whole-text", eval.wholeText, "score all of the text, not its held-out 5 %");
  evaluate->add_option("--batches", eval.batches, "batches to read; 0: all")->type_name("N")->capture_default_str();
  evaluate->add_option("--threads", eval.threads, "threads; 0: all processors")->type_name("N")->capture_default_str();
  evaluate->add_option("--cache-dir", eval.cache, "tokenised data")->type_name("DIR");

  GenerateCommand generate;
  CLI::App *generator = subcommand("generate", "continue a prompt by an inference program",
                                   [&] { return runGenerate(program, generate); });
  generator->add_option("--checkpoint", generate.checkpoint, "a run's folder, or one of its step-N folders")
      ->type_name("DIR")
      ->required();
  generator->add_option("--tokenizer", generate.tokenizer, "SentencePiece model")->type_name("FILE")->required();
  smet::cli::addSampling(*generator, generate);

  subcommand("info", "describe the program", [&] { return runInspect(program); });
  return smet::cli::main("smet-run", app, argc, argv, [&] { return command(); });
}
