//===- smet-run.cpp - train and run compiled programs ---------------------===//
//
// As smet, on a program file that was compiled before; it needs no compiler.
//
//===----------------------------------------------------------------------===//

#include "tools/common/Cli.h"

#include "runtime/support/Interrupt.h"

using namespace smet::rt;
using smet::cli::RunFlags;

/// What was compiled cannot be chosen any more: a file that says otherwise is an error, not ignored.
static Status checkCompiled(const TrainOptions &options, const TrainOptions &compiled, const std::string &program) {
  for (const OptionInfo &option : optionTable())
    if (option.group == OptionGroup::Model && option.name != "model" && option.name != "cache-dir")
      if (std::string asked = optionText(options, option), is = optionText(compiled, option); asked != is)
        return fail("the configuration says {} = {}, but '{}' was compiled with {}; compile a program for it, or take "
                    "the line out",
                    option.name, asked, program, is);
  return {};
}

static Expected<int> trainCommand(const std::string &program, const std::string &config, const RunFlags &flags) {
  Interrupt interrupt;
  auto manifest = readManifest(program);
  if (!manifest)
    return std::unexpected(manifest.error());
  TrainOptions compiled;
  if (Status adopted = adoptProgram(compiled, *manifest); !adopted)
    return std::unexpected(adopted.error());
  auto options = smet::cli::gatherOptions(compiled, {config}, flags);
  if (!options)
    return std::unexpected(options.error());
  if (Status same = checkCompiled(*options, compiled, program); !same)
    return std::unexpected(same.error());
  return runTrain(program, *options);
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
  smet::cli::addConfig(*train, config);
  flags.addTo(*train, [](const OptionInfo &option) {
    return option.group != OptionGroup::Model || option.name == "cache-dir";
  });

  EvalOptions eval;
  CLI::App *evaluate =
      subcommand("eval", "loss, perplexity and bits per character of a checkpoint, by a training program", [&] {
        Interrupt interrupt;
        return runEval(program, eval);
      });
  smet::cli::addEvaluation(*evaluate, eval);

  GenerateCommand generate;
  CLI::App *generator = subcommand("generate", "continue a prompt by an inference program", [&] {
    Interrupt interrupt;
    return runGenerate(program, generate);
  });
  smet::cli::addGeneration(*generator, generate);

  subcommand("info", "describe the program", [&] { return runInspect(program); });
  return smet::cli::main("smet-run", app, argc, argv, [&] { return command(); });
}
