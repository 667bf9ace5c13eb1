//===- smet-bench.cpp - measures kernels beside other programs ------------===//
#include "Linear.h"
#include "Peer.h"
#include "Step.h"
#include "Topology.h"

#include "tools/common/Cli.h"

#include "runtime/support/File.h"
#include "runtime/support/Interrupt.h"

#include <charconv>
#include <thread>

using namespace smet;
using namespace smet::bench;

/// "1376x512" into two positive numbers; an error message otherwise.
static std::string parsePair(const std::string &text, int64_t &first, int64_t &second) {
  size_t times = text.find('x');
  auto number = [](std::string_view part, int64_t &value) {
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size() && value > 0;
  };
  std::string_view view = text;
  if (times == std::string::npos || !number(view.substr(0, times), first) || !number(view.substr(times + 1), second))
    return "'" + text + "' is not of the form 16x16";
  return "";
}

/// An option of the form AxB.
static CLI::Option *addPair(CLI::App &app, const char *flag, const char *type, const char *help, int64_t &first,
                            int64_t &second) {
  auto set = [&first, &second, flag](const std::string &text) {
    if (std::string error = parsePair(text, first, second); !error.empty())
      throw CLI::ValidationError(flag, error);
  };
  return app.add_option_function<std::string>(flag, set, help)->type_name(type);
}

/// How often something is done, or how large it is.
static const CLI::Range counts(1, 1'000'000);

/// A share; NaN, which no comparison refuses, is none.
static std::string checkShare(const std::string &text) {
  double share = 0;
  bool holds = CLI::detail::lexical_cast(text, share) && share > 0 && share <= 1;
  return holds ? "" : "must be in (0, 1], got " + text;
}

/// More threads than that measure how they wait for each other.
static std::string checkThreads(const std::string &text) {
  int64_t processors = std::max(1u, std::thread::hardware_concurrency()), threads = 0;
  bool holds = CLI::detail::lexical_cast(text, threads) && threads >= 0 && threads <= 4 * processors;
  return holds ? ""
               : fmt::format("must be in [0, {}], as this machine has {} processors, got {}", 4 * processors,
                             processors, text);
}

/// Results are written last; whether they can be is asked first.
static std::string checkResultsFile(const std::string &file) {
  if (file.empty())
    return "'' does not name a file";
  auto dropped = rt::AtomicFile::create(file);
  return dropped ? "" : dropped.error().message;
}

/// What linear and layer have in common.
static void addJob(CLI::App &app, LinearOptions &options) {
  Job &job = options.job;
  addPair(app, "--block", "RxC", "block of the topology", job.blockRows, job.blockCols)->default_str("16x16");
  app.add_option("--density", job.density, "share of active blocks, in (0, 1]")
      ->type_name("D")
      ->check(checkShare)
      ->capture_default_str();
  app.add_option("--dtype", job.dtype, "how smet stores activations and weights")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--tokens", job.tokens, "tokens")->type_name("T")->check(counts)->capture_default_str();
  app.add_option("--cpu", job.cpu, std::string(rt::findOption("cpu")->help))
      ->type_name("NAME")
      ->check(cli::notEmpty)
      ->capture_default_str();
  app.add_option("--threads", job.threads, "threads of each contender; 0: as many as there are processors")
      ->type_name("P")
      ->check(checkThreads)
      ->capture_default_str();
  app.add_option("--op", options.op, "y = x Wᵀ, dx = dy W, dW = dyᵀ x at the active weights, or all three")
      ->check(CLI::IsMember({"fwd", "dx", "dw", "all"}))
      ->capture_default_str();
  app.add_option("--baseline", options.baselines,
                 "what is measured beside it, repeatable: onednn, a shared library with dnnl_sgemm or cblas_sgemm, "
                 "NAME=COMMAND (see benchmarks/peers), f32 (smet with everything in f32), none")
      ->type_name("WHAT")
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "measurements of each")
      ->type_name("N")
      ->check(counts)
      ->capture_default_str();
  app.add_option("--json", options.json, "write the results there, every sample included")
      ->type_name("FILE")
      ->check(checkResultsFile);
  app.add_option("--cache-dir", options.cache, "compiled programs")->type_name("DIR");
}

/// A Hugging Face configuration: a size with a preset, or a config.json.
static rt::Expected<nlohmann::json> readModel(const std::string &model) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path file = fs::exists(model, error) ? fs::path(model) : cli::presetFolder() / ("llama_" + model + ".json");
  auto text = rt::readFile(file);
  if (!text)
    return rt::fail("--model {}: neither a preset (60m, 130m, 350m, 1b) nor a readable config.json", model);
  auto config = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    return rt::fail("{}: not a JSON object", file.string());
  return config;
}

/// The seven linears of a layer of a LLaMA configuration.
static rt::Expected<std::vector<Shape>> layerShapes(const std::string &model) {
  auto config = readModel(model);
  if (!config)
    return std::unexpected(config.error());
  auto size = [&](const char *key, int64_t otherwise) {
    return config->contains(key) && (*config)[key].is_number_integer() ? (*config)[key].get<int64_t>() : otherwise;
  };
  int64_t hidden = size("hidden_size", 0), ffn = size("intermediate_size", 0), heads = size("num_attention_heads", 1);
  int64_t kvHeads = size("num_key_value_heads", heads);
  if (hidden <= 0 || ffn <= 0 || heads <= 0 || kvHeads <= 0)
    return rt::fail("--model {}: hidden_size, intermediate_size or the numbers of heads are missing or not positive",
                    model);
  int64_t head = size("head_dim", hidden / heads), most = std::numeric_limits<int32_t>::max();
  if (head <= 0 || head > most || heads > most || kvHeads > most)
    return rt::fail("--model {}: heads of {} ({} and {} of them) must be positive and at most {}", model, head, heads,
                    kvHeads, most);
  return std::vector<Shape>{{heads * head, hidden},
                            {kvHeads * head, hidden},
                            {kvHeads * head, hidden},
                            {hidden, heads * head},
                            {ffn, hidden},
                            {ffn, hidden},
                            {hidden, ffn}};
}

/// An option that a training run has, read as smet reads it.
static CLI::Option *addTrainOption(CLI::App &app, StepOptions &options, const char *flag, const char *name,
                                   const char *type, std::string help) {
  const rt::OptionInfo *option = rt::findOption(name);
  auto set = [&options, option, flag](const std::string &text) {
    if (rt::Status known = rt::setOption(options.train, *option, text); !known)
      throw CLI::ValidationError(flag, known.error().message);
    options.given.push_back(option);
  };
  return app.add_option_function<std::string>(flag, set, std::move(help))
      ->type_name(type)
      ->default_str(optionText(options.train, *option));
}

/// What step and topology have in common. `count` says what is repeated.
static void addTraining(CLI::App &app, StepOptions &options, std::string &model, const char *count) {
  auto add = [&](const char *flag, const char *name, const char *type, std::string help) {
    return addTrainOption(app, options, flag, name, type, std::move(help));
  };
  app.add_option("--model", model, "60m, 130m, 350m, 1b, or a Hugging Face config.json")
      ->type_name("MODEL")
      ->capture_default_str();
  add("--density", "density", "D", "share of active blocks");
  add("--block", "block", "RxC", "block of the topology");
  add("--dtype", "dtype", "TYPE", "f32, or bf16: activations and sparse weights in half the memory");
  add("--batch", "batch-size", "B", "sequences");
  add("--seq-len", "seq-len", "T", "tokens of a sequence");
  add("--cpu", "cpu", "NAME", std::string(rt::findOption("cpu")->help));
  add("--threads", "threads", "P", "threads; 0: as many as there are processors")->check(checkThreads);
  app.add_option(count, options.steps, "how many are measured; one more goes before")
      ->type_name("N")
      ->check(counts)
      ->capture_default_str();
  app.add_option("--json", options.json, "write the results there, every sample included")
      ->type_name("FILE")
      ->check(checkResultsFile);
  add("--cache-dir", "cache-dir", "DIR", "compiled programs");
}

/// Checks values and combinations, as smet does.
static rt::Status validate(const StepOptions &options) {
  for (const rt::OptionInfo *option : options.given)
    if (rt::Status applies = cli::checkApplies(*option, options.train.method); !applies)
      return applies;
  return rt::validate(options.train);
}

int main(int argc, char **argv) {
  CLI::App app("smet-bench measures compiled kernels beside other programs, in turn in one run.");
  app.require_subcommand(1);
  app.footer("\nExamples:\n"
             "  smet-bench linear --shape 1376x512 --density 0.1 --block 16x16\n"
             "  smet-bench layer --model 350m --density 0.2 --block 8x8 --threads 2 --json layer.json\n"
             "  smet-bench step --model 60m --method smet --batch 8 --seq-len 256 --threads 2\n"
             "  smet-bench topology --model 350m --block 1x1\n");
  std::function<rt::Expected<int>()> command;

  LinearOptions options;
  Shape shape{1376, 512};
  CLI::App *linear = app.add_subcommand("linear", "one masked linear layer");
  addPair(*linear, "--shape", "NxK", "outputs x inputs of the layer", shape.rows, shape.cols)->default_str("1376x512");
  addJob(*linear, options);
  linear->callback([&] {
    command = [&] {
      options.job.layers = {shape};
      return runLinear(options, fmt::format("linear layer {}x{}", shape.rows, shape.cols));
    };
  });

  std::string model = "60m";
  CLI::App *layer = app.add_subcommand("layer", "the seven linears of a transformer layer");
  layer->add_option("--model", model, "60m, 130m, 350m, 1b, or a Hugging Face config.json")
      ->type_name("MODEL")
      ->capture_default_str();
  addJob(*layer, options);
  layer->callback([&] {
    command = [&]() -> rt::Expected<int> {
      auto shapes = layerShapes(model);
      if (!shapes)
        return std::unexpected(shapes.error());
      options.job.layers = *shapes;
      return runLinear(options, "the seven linears of a layer of " + model);
    };
  });

  StepOptions training;
  auto withModel = [&](rt::Expected<int> (*run)(const StepOptions &, const std::string &), const char *what) {
    return [&training, &model, run, what]() -> rt::Expected<int> {
      auto config = readModel(model);
      if (!config)
        return std::unexpected(config.error());
      training.model = *config;
      if (rt::Status sound = validate(training); !sound)
        return std::unexpected(sound.error());
      return run(training, what + model);
    };
  };
  CLI::App *step = app.add_subcommand("step", "a whole training step: where its time goes, by op");
  addTraining(*step, training, model, "--steps");
  addTrainOption(*step, training, "--method", "method", "METHOD", "smet, static or dense");
  step->add_option("--baseline", training.baselines,
                   "what is measured beside it, repeatable: NAME=COMMAND of a program that trains the dense model (see "
                   "benchmarks/peers), f32 (the same with everything in f32), 1-thread (the same on one thread)")
      ->type_name("WHAT");
  step->callback([&] { command = withModel(runStep, "a training step of "); });

  CLI::App *topology = app.add_subcommand("topology", "a topology update, beside the steps between two of them");
  addTraining(*topology, training, model, "--updates");
  addTrainOption(*topology, training, "--prune-rate", "prune-rate", "R", "share of the active blocks replaced");
  topology->callback([&] { command = withModel(runTopology, "topology updates of "); });

  std::string library;
  CLI::App *serve =
      app.add_subcommand("serve", "be the peer of a dense library (used by smet-bench itself)")->group("");
  serve->add_option("--library", library)->required();

  return cli::main("smet-bench", app, argc, argv, [&] {
    if (serve->parsed())
      return servePeer(library);
    rt::Interrupt interrupt;
    return command();
  });
}
