//===- Commands.cpp - what smet and smet-run do ---------------------------===//

#include "runtime/train/Commands.h"

#include "runtime/support/File.h"
#include "runtime/support/Interrupt.h"
#include "runtime/support/Print.h"
#include "runtime/train/CompilerProcess.h"
#include "runtime/train/Inspect.h"
#include "runtime/train/Metrics.h"
#include "runtime/train/Plan.h"
#include "runtime/train/Trainer.h"

#include <algorithm>
#include <cmath>
#include <csignal>

namespace smet::rt {

namespace fs = std::filesystem;

Expected<Manifest> readManifest(const fs::path &path) {
  auto program = Program::load(path);
  if (!program)
    return std::unexpected(program.error());
  return program->manifest();
}

/// A value of the manifest's config as an option reads it.
static std::string configText(const nlohmann::json &value) {
  if (value.is_array() && value.size() == 2) // a block
    return fmt::format("{}x{}", value[0].dump(), value[1].dump());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Status adoptProgram(TrainOptions &options, const Manifest &manifest) {
  static constexpr std::pair<std::string_view, std::string_view> keys[] = {{"method", "method"},
                                                                           {"check", "check"},
                                                                           {"dtype", "dtype"},
                                                                           {"density", "density"},
                                                                           {"block", "block"},
                                                                           {"beta1", "beta1"},
                                                                           {"beta2", "beta2"},
                                                                           {"eps", "eps"},
                                                                           {"batch", "batch-size"},
                                                                           {"seq_len", "seq-len"},
                                                                           {"warmup_updates", "warmup-updates"},
                                                                           {"weight_decay", "weight-decay"}};
  for (auto [key, flag] : keys) {
    auto value = manifest.config.find(key);
    if (value == manifest.config.end())
      continue;
    if (Status set = setOption(options, *findOption(flag), configText(*value)); !set)
      return fail("the program's manifest: config.{}: {}", key, set.error().message);
  }
  options.cpu = manifest.cpu;
  return setOption(options, *findOption("target"), manifest.target);
}

Expected<nlohmann::json> readModelConfig(const fs::path &file) {
  if (file.empty())
    return fail("no model: give --model FILE, a Hugging Face config.json such as configs/llama_60m.json");
  auto text = readFile(file);
  if (!text)
    return std::unexpected(text.error());
  nlohmann::json config = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    return fail("{}: not a JSON object; --model wants a Hugging Face config.json", file.string());
  return config;
}

Expected<TrainOptions> runOptions(const fs::path &run) {
  std::error_code error;
  fs::path folder = fs::absolute(run, error).lexically_normal();
  if (!folder.has_filename())
    folder = folder.parent_path();
  if (run.empty() || !fs::is_directory(folder, error))
    return fail("'{}' is not the folder of a run", run.string());
  if (!fs::exists(folder / "config.toml", error) && fs::exists(folder / "state.json", error))
    folder = folder.parent_path();
  TrainOptions options;
  if (Status read = readToml(options, folder / "config.toml"); !read)
    return std::unexpected(read.error());
  return options;
}

static Expected<Tokenizer> loadTokenizer(const fs::path &file) {
  if (file.empty())
    return fail("no tokenizer: give --tokenizer FILE; `smet tokenizer train --data TEXT --vocab-size N --out FILE` "
                "makes one");
  auto tokenizer = Tokenizer::load(file);
  std::error_code error;
  if (!tokenizer && !fs::exists(file, error))
    return fail("{}; `smet tokenizer train --data TEXT --vocab-size N --out {}` makes one", tokenizer.error().message,
                file.string());
  return tokenizer;
}

static Expected<TextFiles> findText(const fs::path &data) {
  if (data.empty())
    return fail("no text: give --data PATH, a UTF-8 text file or a folder of them");
  return TextFiles::find(data);
}

Status checkTrainInputs(const TrainOptions &options, int64_t modelVocabulary) {
  if (auto text = findText(options.data.text); !text)
    return std::unexpected(text.error());
  auto tokenizer = loadTokenizer(options.tokenizer.text);
  if (!tokenizer)
    return std::unexpected(tokenizer.error());
  return modelVocabulary > 0 ? tokenizer->checkVocabulary(modelVocabulary) : Status();
}

static int64_t vocabularyOf(const Manifest &manifest) {
  return manifest.config.value("model", nlohmann::json::object()).value("vocab_size", int64_t(0));
}

/// Which of `smet compile --kind` a command needs.
static Status checkKind(const Manifest &manifest, std::string_view kind, const fs::path &program) {
  if (manifest.kind == kind)
    return {};
  return fail("'{}' is a program of kind {}; this command takes one that was compiled with --kind {}", program.string(),
              manifest.kind, kind);
}

static Status checkVocabulary(const Tokenizer &tokenizer, const Manifest &manifest) {
  int64_t vocabulary = vocabularyOf(manifest);
  return vocabulary > 0 ? tokenizer.checkVocabulary(vocabulary) : Status();
}

namespace {

/// A program that is ready to run, of the kind that a command needs and with room for the tokenizer's pieces.
struct Loaded {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Instance> instance;

  static Expected<Loaded> load(const fs::path &program, std::string_view kind, const Tokenizer &tokenizer,
                               int64_t threads) {
    if (threads < 0 || threads > TrainOptions::kMaxThreads)
      return fail("--threads must be in [0, {}], got {}", TrainOptions::kMaxThreads, threads);
    auto pool = ThreadPool::create(static_cast<int>(threads));
    if (!pool)
      return std::unexpected(pool.error());
    auto instance = Instance::load(program, **pool);
    if (!instance)
      return std::unexpected(instance.error());
    Status fits = checkKind((*instance)->manifest(), kind, program);
    if (fits)
      fits = checkVocabulary(tokenizer, (*instance)->manifest());
    if (!fits)
      return std::unexpected(fits.error());
    return Loaded{std::move(*pool), std::move(*instance)};
  }
};

/// A text as tokens.
struct Corpus {
  Tokenizer tokenizer;
  TokenShard shard;

  static Expected<Corpus> open(const fs::path &data, const fs::path &tokenizerFile, const fs::path &cache) {
    auto tokenizer = loadTokenizer(tokenizerFile);
    if (!tokenizer)
      return std::unexpected(tokenizer.error());
    auto text = findText(data);
    if (!text)
      return std::unexpected(text.error());
    auto shard = TokenShard::open(*text, *tokenizer, cacheFolder(cache) / "tokens",
                                  [](std::string_view note) { print(stderr, "smet: {}\n", note); });
    if (!shard)
      return std::unexpected(shard.error());
    return Corpus{std::move(*tokenizer), std::move(*shard)};
  }
};

} // namespace

/// A number of a record; NaN is null in JSON.
static double number(const nlohmann::json &record, const char *key) {
  auto value = record.find(key);
  return value != record.end() && value->is_number() ? value->get<double>() : std::nan("");
}

/// Curve, validation, speed, memory, checkpoint; from the run's metrics, so that a finished run shows the same again.
static void printSummary(const TrainResult &result, const TrainOptions &options, const Manifest &manifest) {
  auto records = readMetrics(fs::path(options.out.text) / "metrics.jsonl");
  CurveStyle style;
  style.unicode = localeIsUtf8();
  if (records && !records->empty()) {
    print("\ntraining loss (nats a token) over steps\n\n{}\n\n",
          drawCurve(lossCurve(*records, 2 * style.width), style));
    auto validated = std::ranges::find_if(records->rbegin(), records->rend(),
                                          [](const nlohmann::json &r) { return r.contains("val_perplexity"); });
    if (validated != records->rend())
      print("  {:<16} perplexity {:.2f}, loss {:.4f}, {:.4f} bits a character (step {})\n", "validation",
            number(*validated, "val_perplexity"), number(*validated, "val_loss"),
            number(*validated, "val_bits_per_character"), (*validated)["step"].get<int64_t>());
    print("  {:<16} {} tokens/s, {:.1f} ms a step\n\n", "speed",
          countText(number(records->back(), "tokens_per_second")), number(records->back(), "ms_per_step"));
  }
  print("{}\n  {:<16} {}\n", memoryTable(manifest), "checkpoint", result.checkpoint.string());
}

static int reportLossNotFinite(const TrainResult &result) {
  std::string last = result.checkpoint.empty()
                         ? "there is no good checkpoint before it"
                         : fmt::format("the last good checkpoint is {}; go back to it with --resume {}",
                                       result.checkpoint.string(), result.checkpoint.string());
  print(stderr,
        "smet: error: the loss of step {} is NaN or infinite; training stopped before the optimizer changed "
        "anything; {}. A lower --lr or a longer --lr-warmup may help\n",
        result.step + 1, last);
  return kLossNotFinite;
}

static int reportTraining(const TrainResult &result, const TrainOptions &options, const Manifest &manifest) {
  switch (result.ending) {
  case Ending::LossNotFinite:
    return reportLossNotFinite(result);
  case Ending::Interrupted:
    print("stopped by {} after step {}, saved in {}; continue with --resume\n", signalText(result.signal), result.step,
          result.checkpoint.string());
    return 128 + result.signal;
  case Ending::StoppedAfter:
    print("stopped after step {} of {}, saved in {}; continue with --resume\n", result.step, options.steps,
          result.checkpoint.string());
    return kOk;
  case Ending::Finished:
    printSummary(result, options, manifest);
    return kOk;
  }
  return kOk;
}

Expected<int> runTrain(const fs::path &program, const TrainOptions &options) {
  if (options.dryRun) {
    auto manifest = readManifest(program);
    if (!manifest)
      return std::unexpected(manifest.error());
    if (Status kind = checkKind(*manifest, "train", program); !kind)
      return std::unexpected(kind.error());
    print("{}", planText(*manifest));
    return kOk;
  }
  std::signal(SIGPIPE, SIG_IGN); // a reader of the output that goes away must not cost the run
  auto corpus = Corpus::open(options.data.text, options.tokenizer.text, options.cacheDir.text);
  if (!corpus)
    return std::unexpected(corpus.error());
  auto loaded = Loaded::load(program, "train", corpus->tokenizer, options.threads);
  if (!loaded)
    return std::unexpected(loaded.error());

  Progress progress(stdout, options.logEvery);
  auto result = train({*loaded->instance, corpus->shard, corpus->tokenizer, options, progress});
  progress.finish();
  if (!result)
    return std::unexpected(result.error());
  return reportTraining(*result, options, loaded->instance->manifest());
}

/// Opens the checkpoint, prints its warnings and fills the program's tensors, if its tokens are those of `tokenizer`.
static Status openInto(Instance &instance, const fs::path &folder, const Tokenizer &tokenizer, bool complete) {
  auto checkpoint = locateCheckpoint(folder);
  if (!checkpoint)
    return std::unexpected(checkpoint.error());
  if (!*checkpoint)
    return fail("{} holds no checkpoint", folder.string());
  for (const std::string &warning : (*checkpoint)->warnings)
    print(stderr, "smet: warning: {}\n", warning);
  if ((*checkpoint)->state.tokenizerHash != tokenizer.hash())
    return fail(
        "{} was trained with another tokenizer: the same numbers stand for other pieces; give the run's own, or "
        "leave --tokenizer out",
        (*checkpoint)->path.string());
  return loadInto(instance, **checkpoint, complete);
}

/// Fills what is empty with what the checkpoint's run used; its config.toml is read only then.
static Status completeFromRun(const fs::path &checkpoint, fs::path &tokenizer, fs::path *data) {
  if (!tokenizer.empty() && (!data || !data->empty()))
    return {};
  auto run = runOptions(checkpoint);
  if (!run)
    return fail("{}; without it, give {}--tokenizer", run.error().message, data ? "--data and " : "");
  if (tokenizer.empty())
    tokenizer = run->tokenizer.text;
  if (data && data->empty())
    *data = run->data.text;
  return {};
}

Expected<int> runEval(const fs::path &program, EvalOptions options) {
  if (options.batches < 0)
    return fail("--batches must be at least 0, got {}", options.batches);
  if (Status complete = completeFromRun(options.checkpoint, options.tokenizer, &options.data); !complete)
    return std::unexpected(complete.error());
  auto corpus = Corpus::open(options.data, options.tokenizer, options.cache);
  if (!corpus)
    return std::unexpected(corpus.error());
  auto loaded = Loaded::load(program, "train", corpus->tokenizer, options.threads);
  if (!loaded)
    return std::unexpected(loaded.error());
  Instance &instance = *loaded->instance;
  if (Status ready = openInto(instance, options.checkpoint, corpus->tokenizer, /*complete=*/true); !ready)
    return std::unexpected(ready.error());
  auto shape = batchShape(instance.manifest());
  if (!shape)
    return std::unexpected(shape.error());
  auto batches = options.wholeText ? EvalBatches::wholeText(corpus->shard, corpus->tokenizer, *shape)
                                   : EvalBatches::validation(corpus->shard, corpus->tokenizer, *shape);
  if (!batches)
    return std::unexpected(batches.error());
  auto result = evaluate(instance, *batches, options.batches);
  if (!result)
    return std::unexpected(result.error());
  print("{}\n", evalLine(*result));
  return kOk;
}

static Status checkGenerate(const GenerateCommand &command) {
  const GenerateOptions &o = command.options;
  const SamplingOptions &sampling = o.sampling;
  if (command.count < 1)
    return fail("--num must be at least 1, got {}", command.count);
  if (o.maxTokens < 1)
    return fail("--max-tokens must be at least 1, got {}", o.maxTokens);
  if (!(sampling.temperature >= 0 && std::isfinite(sampling.temperature)))
    return fail("--temperature must be a number of at least 0, got {}", sampling.temperature);
  if (sampling.topK < 0)
    return fail("--top-k must be at least 0, got {}", sampling.topK);
  if (!(sampling.topP > 0 && sampling.topP <= 1))
    return fail("--top-p must be in (0, 1], got {}", sampling.topP);
  if (o.seed < 0)
    return fail("--seed must be at least 0, got {}", o.seed);
  if (validUtf8Prefix(command.prompt) != command.prompt.size())
    return fail("--prompt is not UTF-8");
  return {};
}

Expected<int> runGenerate(const fs::path &program, GenerateCommand command) {
  if (Status good = checkGenerate(command); !good)
    return std::unexpected(good.error());
  if (Status complete = completeFromRun(command.checkpoint, command.tokenizer, nullptr); !complete)
    return std::unexpected(complete.error());
  auto tokenizer = loadTokenizer(command.tokenizer);
  if (!tokenizer)
    return std::unexpected(tokenizer.error());
  auto loaded = Loaded::load(program, "infer", *tokenizer, command.threads);
  if (!loaded)
    return std::unexpected(loaded.error());
  Instance &instance = *loaded->instance;
  if (Status ready = openInto(instance, command.checkpoint, *tokenizer, /*complete=*/false); !ready)
    return std::unexpected(ready.error());
  GenerateOptions options = command.options;
  for (int64_t i = 0; i < command.count; ++i) {
    options.sample = static_cast<uint64_t>(i);
    auto text = generate(instance, *tokenizer, command.prompt, options);
    if (!text)
      return std::unexpected(text.error());
    print("{}{}\n", i ? "\n" : "", *text);
    std::fflush(stdout);
  }
  return kOk;
}

Expected<int> runInspect(const fs::path &path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return fail("{}: no such file or folder", path.string());
  if (!fs::is_directory(path, error)) {
    auto manifest = readManifest(path);
    if (!manifest)
      return std::unexpected(manifest.error());
    print("{}", inspectProgram(*manifest));
    return kOk;
  }
  auto checkpoint = locateCheckpoint(path);
  if (!checkpoint)
    return std::unexpected(checkpoint.error());
  if (!*checkpoint)
    return fail("{} holds no checkpoint", path.string());
  for (const std::string &warning : (*checkpoint)->warnings)
    print(stderr, "smet: warning: {}\n", warning);
  auto text = inspectCheckpoint(**checkpoint, localeIsUtf8());
  if (!text)
    return std::unexpected(text.error());
  print("{}", *text);
  return kOk;
}

} // namespace smet::rt
