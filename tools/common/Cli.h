//===- Cli.h - what the command lines of smet and smet-run share -*- C++ -*-===//
//
// The flags of a training run, made from the runtime's table of options, the flags of eval and generate, and how a
// command ends.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TOOLS_COMMON_CLI_H
#define SMET_TOOLS_COMMON_CLI_H

#include "runtime/support/Print.h"
#include "runtime/train/Commands.h"

#include <CLI/CLI.hpp>
#include <fcntl.h>

#include <deque>
#include <functional>

namespace smet::cli {

inline constexpr const char *kExitCodes =
    "\nExit codes: 0 done; 1 bad input, a damaged file, a full disk; 2 wrong command line; 3 the loss was NaN or\n"
    "infinite; 130 / 143 / 129 stopped by Ctrl-C / SIGTERM / SIGHUP, after the step was finished and saved.\n";

/// An option that changes nothing with this method is refused, not ignored.
inline rt::Status checkApplies(const rt::OptionInfo &option, rt::Method method) {
  if (appliesTo(option, method))
    return {};
  return rt::fail("--{} means nothing with --method {}; leave it out", option.name, rt::name(method));
}

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
    for (const Given &given : flags)
      if (text(given.info->name))
        if (rt::Status applies = checkApplies(*given.info, options.method); !applies)
          return applies;
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

/// The configuration of the run that --resume continues, if it is there; its folder is the run's --out.
inline rt::Status readResumed(rt::TrainOptions &options, const RunFlags &flags) {
  namespace fs = std::filesystem;
  if (!flags.has("resume"))
    return {};
  std::string resume = flags.value("resume");
  fs::path run = resume != "auto" ? resume : flags.has("out") ? flags.value("out") : options.out.text;
  std::error_code error;
  if (fs::exists(run / "state.json", error))
    run = fs::absolute(run, error).lexically_normal().parent_path();
  if (resume != "auto" && !fs::is_directory(run, error))
    return rt::fail("--resume: '{}' is not the folder of a run", resume);
  if (!fs::exists(run / "config.toml", error))
    return {};
  rt::Status read = readToml(options, run / "config.toml");
  options.out.text = run.string();
  return read;
}

/// `options`, then the resumed run, the files (where not empty) in order, and the flags; checked.
inline rt::Expected<rt::TrainOptions>
gatherOptions(rt::TrainOptions options, std::initializer_list<std::filesystem::path> files, const RunFlags &flags) {
  rt::Status status = readResumed(options, flags);
  for (const std::filesystem::path &file : files)
    if (status && !file.empty())
      status = readToml(options, file);
  if (status)
    status = flags.apply(options);
  if (status)
    status = validate(options);
  if (!status)
    return std::unexpected(status.error());
  return options;
}

/// Where the configurations of known models and runs lie: beside the tools, in the build tree as in an installation.
inline std::filesystem::path presetFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share/smet/configs";
}

/// For an option that names something: an empty text is a variable that the caller's script has not set.
inline std::string notEmpty(const std::string &text) { return text.empty() ? "is empty" : ""; }

inline void addConfig(CLI::App &app, std::string &config) {
  app.add_option("--config", config, "TOML file with the flags' names as keys; flags win over it")
      ->type_name("FILE")
      ->check(notEmpty);
}

/// The flags that name a checkpoint and what its run used.
inline void addCheckpoint(CLI::App &app, std::filesystem::path &checkpoint, std::filesystem::path &tokenizer,
                          int64_t &threads) {
  app.add_option("--checkpoint", checkpoint, "a run's folder, or one of its step-N folders")
      ->type_name("DIR")
      ->required();
  app.add_option("--tokenizer", tokenizer, "SentencePiece model; default: the run's")->type_name("FILE");
  app.add_option("--threads", threads, "threads; 0: all processors")->type_name("N")->capture_default_str();
}

/// The flags of `eval`.
inline void addEvaluation(CLI::App &app, rt::EvalOptions &eval) {
  addCheckpoint(app, eval.checkpoint, eval.tokenizer, eval.threads);
  app.add_option("--data", eval.data, "text; default: what the run was trained on")->type_name("PATH");
  app.add_flag("--whole-text", eval.wholeText, "score all of the text, not its held-out 5 %");
  app.add_option("--batches", eval.batches, "batches to read; 0: all")->type_name("N")->capture_default_str();
  app.add_option("--cache-dir", eval.cache, "compiled programs and tokenised data")->type_name("DIR");
}

/// The flags of `generate`.
inline void addGeneration(CLI::App &app, rt::GenerateCommand &c) {
  addCheckpoint(app, c.checkpoint, c.tokenizer, c.threads);
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
}

inline void printError(const char *tool, const rt::Error &error) {
  const std::string &message = error.message;
  for (size_t begin = 0; begin <= message.size();) {
    size_t end = std::min(message.find('\n', begin), message.size());
    rt::print(stderr, "{}: {}{}\n", tool, error.signal ? "" : "error: ", message.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// A standard stream that the caller closed would be the next file that is opened, and be printed into.
inline void openStandardStreams() {
  for (int stream : {0, 1, 2})
    if (fcntl(stream, F_GETFD) < 0)
      open("/dev/null", O_RDWR);
}

/// When a word stands where a command is wanted: which, and what there is.
inline std::string unknownCommand(const CLI::App &app) {
  const CLI::App *at = &app;
  while (!at->get_subcommands().empty())
    at = at->get_subcommands().front();
  std::vector<std::string> words = at->remaining();
  std::string known;
  auto isShown = [](const CLI::App *command) { return !command->get_group().empty(); };
  for (const CLI::App *command : at->get_subcommands(isShown))
    known += (known.empty() ? "" : ", ") + command->get_name();
  if (known.empty() || words.empty() || words.front().starts_with("-"))
    return "";
  return fmt::format("there is no command '{}'; there are {}", words.front(), known);
}

/// Says what cannot be read, and returns the exit code: a value is an input like others, the rest a wrong command line.
inline int explainCommandLine(const char *tool, const CLI::App &app, const CLI::ParseError &error) {
  if (dynamic_cast<const CLI::ValidationError *>(&error) || dynamic_cast<const CLI::ConversionError *>(&error)) {
    printError(tool, rt::Error{error.what()});
    return rt::kError;
  }
  if (std::string message = unknownCommand(app); !message.empty()) {
    printError(tool, rt::Error{message});
    return rt::kUsage;
  }
  return app.exit(error) == 0 ? rt::kOk : rt::kUsage;
}

/// Parses, runs the command that `run` holds afterwards, and prints its error. Returns the exit code.
inline int main(const char *tool, CLI::App &app, int argc, char **argv, const std::function<rt::Expected<int>()> &run) {
  openStandardStreams();
  rt::Expected<int> code = rt::kOk;
  try {
    app.parse(argc, argv);
    code = run();
  } catch (const CLI::ParseError &error) {
    code = explainCommandLine(tool, app, error);
  }
  bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (code && *code == rt::kOk && !written)
    code = rt::fail("the output could not be written completely");
  if (code)
    return *code;
  printError(tool, code.error());
  return code.error().signal ? 128 + code.error().signal : int(rt::kError);
}

} // namespace smet::cli

#endif // SMET_TOOLS_COMMON_CLI_H
