//===- Cli.h - what the command lines of smet and smet-run share -*- C++ -*-===//
//
// The flags of a training run, made from the runtime's table of options, and how a command ends.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TOOLS_COMMON_CLI_H
#define SMET_TOOLS_COMMON_CLI_H

#include "runtime/train/Commands.h"

#include <CLI/CLI.hpp>

#include <deque>
#include <functional>

namespace smet::cli {

inline constexpr const char *kExitCodes =
    "\nExit codes: 0 done; 1 bad input, a damaged file, a full disk; 2 wrong command line; 3 the loss was NaN or\n"
    "infinite; 130 / 143 stopped by Ctrl-C / SIGTERM, after the step was finished and saved.\n";

/// The flags of a run that were given, to be applied over presets and files.
class RunFlags {
public:
  /// Adds those flags of the table that `wanted` accepts.
  void addTo(CLI::App &app, const std::function<bool(const rt::OptionInfo &)> &wanted) {
    static const rt::TrainOptions defaults;
    for (const rt::OptionInfo &info : rt::optionTable()) {
      if (!wanted(info))
        continue;
      Given &given = flags.emplace_back(Given{&info, "", nullptr});
      const std::string flag = "--" + std::string(info.name), help(info.help);
      if (info.placeholder.empty()) {
        given.option = app.add_flag(flag, help);
      } else {
        given.option = app.add_option(flag, given.text, help)->type_name(std::string(info.placeholder));
        if (std::string value = optionText(defaults, info); !value.empty())
          given.option->default_str(value);
      }
      if (info.name == "resume")
        given.option->expected(0, 1);
      given.option->group(std::string(rt::title(info.group)));
    }
  }

  bool has(std::string_view name) const { return text(name) != nullptr; }
  std::string value(std::string_view name) const { return has(name) ? *text(name) : ""; }

  /// The given flags over what `options` has.
  rt::Status apply(rt::TrainOptions &options) const {
    for (const Given &given : flags) {
      const std::string *value = text(given.info->name);
      if (!value)
        continue;
      if (rt::Status set = setOption(options, *given.info, *value); !set)
        return rt::fail("--{}: {}", given.info->name, set.error().message);
    }
    return {};
  }

private:
  struct Given {
    const rt::OptionInfo *info;
    std::string text;
    CLI::Option *option;
  };

  /// The text of a flag, null when it was not given. A flag without a value is "true", --resume without one "auto".
  const std::string *text(std::string_view name) const {
    static const std::string yes = "true", automatic = "auto";
    for (const Given &given : flags)
      if (given.info->name == name && given.option->count() > 0) {
        if (given.info->placeholder.empty())
          return &yes;
        return name == "resume" && given.text.empty() ? &automatic : &given.text;
      }
    return nullptr;
  }

  std::deque<Given> flags;
};

inline void printError(const char *tool, const std::string &message) {
  for (size_t begin = 0; begin <= message.size();) {
    size_t end = std::min(message.find('\n', begin), message.size());
    fmt::print(stderr, "{}: error: {}\n", tool, message.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// Parses, runs the command that `run` holds afterwards, and prints its error. Returns the exit code.
inline int main(const char *tool, CLI::App &app, int argc, char **argv, const std::function<rt::Expected<int>()> &run) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? rt::kOk : rt::kUsage;
  }
  rt::Expected<int> code = run();
  if (code)
    return *code;
  std::fflush(stdout);
  printError(tool, code.error().message);
  return rt::kError;
}

/// The flags of `generate` but those that find the model.
inline void addSampling(CLI::App &app, rt::GenerateCommand &c) {
  app.add_option("--prompt", c.prompt, "text to continue; empty: start a document")->type_name("TEXT");
  app.add_option("--num", c.count, "how many texts")->type_name("N")->capture_default_str();
  app.add_option("--max-tokens", c.options.maxTokens, "tokens to add at most")->type_name("N")->capture_default_str();
  app.add_option("--temperature", c.options.sampling.temperature, "0: always the most likely token")
      ->type_name("T")
      ->capture_default_str();
  app.add_option("--top-k", c.options.sampling.topK, "only the K most likely tokens; 0: all")
      ->type_name("K")
      ->capture_default_str();
  app.add_option("--top-p", c.options.sampling.topP, "only the most likely tokens that reach this probability")
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--stop", c.options.stop, "end when the text contains this")->type_name("TEXT");
  app.add_option("--seed", c.options.seed, "same seed, same text")->type_name("N")->capture_default_str();
  app.add_option("--threads", c.threads, "threads; 0: all processors")->type_name("N")->capture_default_str();
}

} // namespace smet::cli

#endif // SMET_TOOLS_COMMON_CLI_H
