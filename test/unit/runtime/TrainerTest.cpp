//===- TrainerTest.cpp - the training loop over a program written in C ----===//
//
// The program is a bigram model with plain gradient descent, and one layer of 4 x 4 blocks of which 4 are active. It
// writes down the learning rate, prune rate and update number that it is called with.
//
//===----------------------------------------------------------------------===//

#include "FakeCard.h"
#include "TestData.h"

#include "runtime/support/Interrupt.h"
#include "runtime/train/Metrics.h"
#include "runtime/train/Trainer.h"

#include <csignal>

using namespace smet::rt;
using namespace smet::test;
namespace fs = std::filesystem;

namespace {

constexpr int kVocabulary = 300, kBatch = 2, kSeqLen = 8;

/// Offsets become #defines of the C source: "lm.weight" is O_lm_weight.
struct Source {
  ManifestBuilder builder{{"init", "train_step", "eval_step", "update_topology"}};
  std::string text;

  void tensor(const std::string &name, const std::string &role, const std::string &dtype, std::vector<int64_t> shape) {
    std::string macro = "O_" + name;
    std::ranges::replace(macro, '.', '_');
    text += fmt::format("#define {} {}\n", macro, builder.tensor(name, role, dtype, shape));
  }
};

constexpr std::string_view kCode = R"(
#define AT(type, name) ((type *)(arena + O_##name))
double exp(double); double log(double);
static double row_loss(const float *w, int target, double *p) {
  double sum = 0;
  for (int v = 0; v < V; ++v) sum += p[v] = exp(w[v]);
  for (int v = 0; v < V; ++v) p[v] /= sum;
  return -log(p[target]);
}
static int pass(char *arena, float lr) {
  float *w = AT(float, lm_weight);
  int *x = AT(int, tokens), *y = AT(int, targets);
  double loss = 0, p[V];
  int n = *AT(int, num_valid), places = P;
  for (int i = 0; i < places; ++i)
    if (y[i] >= 0) loss += row_loss(w + x[i] * V, y[i], p) / n;
  if (*AT(long, step) == NAN_STEP) loss = 0.0 / 0.0;
  *AT(float, loss) = loss;
  if (loss != loss) return SMET_LOSS_NOT_FINITE;
  for (int i = 0; i < places && lr > 0; ++i)
    if (y[i] >= 0) {
      row_loss(w + x[i] * V, y[i], p);
      for (int v = 0; v < V; ++v) w[x[i] * V + v] -= lr / n * (p[v] - (v == y[i]));
    }
  return SMET_OK;
}
static void diagonal(char *arena, long shift) {
  for (int r = 0; r <= 4; ++r) AT(int, s_weight_topology_positions)[r] = r;
  for (int r = 0; r < 4; ++r) AT(short, s_weight_topology_coordinates)[r] = (r + (r == 0 ? shift : 0)) % 4;
}
int32_t smet_init(smet_context *context, char *arena) {
  for (int i = 0; i < V * V; ++i) AT(float, lm_weight)[i] = (*AT(long, seed) % 7) * 1e-3f * (i % 5);
  diagonal(arena, 0);
  return SMET_OK;
}
int raise(int);
int32_t smet_train_step(smet_context *context, char *arena) {
  long t = *AT(long, step);
  if (t == SIGNAL_STEP) raise(SIGNAL);
  int status = pass(arena, *AT(float, lr) * 100);
  if (status == SMET_OK) AT(float, lr_log)[t] = *AT(float, lr);
  return status;
}
int32_t smet_eval_step(smet_context *context, char *arena) {
  long t = *AT(long, step);
  *AT(long, step) = -1;
  int status = pass(arena, 0);
  *AT(long, step) = t;
  return status;
}
int32_t smet_update_topology(smet_context *context, char *arena) {
  AT(double, prune_log)[*AT(long, step)] = *AT(double, prune_rate);
  AT(float, update_log)[*AT(long, step)] = *AT(long, update);
  diagonal(arena, *AT(long, update));
  return SMET_OK;
}
)";

/// For the stand-in of a GPU: kCode's entry points become kernels, which see the arena where it is.
constexpr std::string_view kOnCard = R"(
#include "test/fakecuda/FakeCuda.h"
#undef smet_init
#undef smet_train_step
#undef smet_eval_step
#undef smet_update_topology
static int32_t status;
static const int32_t widths[] = {8};
#define ON_CARD(name)                                                                                     \
  static void run_##name(const struct fake_launch *launch, void **arguments) {                            \
    status = host_##name(0, *(char **)arguments[0]);                                                      \
  }                                                                                                       \
  static const struct fake_function function_##name = {#name, run_##name, 1, widths};                     \
  static const struct fake_image image_##name = {"FAKECUDA", 0, 1, &function_##name};                     \
  static const struct smet_kernel kernel_##name = {#name, 0, 0, 0, 0, #name, &image_##name, 0};           \
  int32_t smet_##name(smet_context *context, char *arena) {                                               \
    void *arguments[] = {&arena};                                                                         \
    int64_t bytes[] = {64};                                                                               \
    float loss;                                                                                           \
    struct smet_launch launch = {{1, 1, 1}, {1, 1, 1}, 0, 1, arguments, bytes};                           \
    context->launch(context, &kernel_##name, &launch);                                                    \
    context->read(context, &loss, arena + O_loss, 4);                                                     \
    return status;                                                                                        \
  }
ON_CARD(init) ON_CARD(train_step) ON_CARD(eval_step) ON_CARD(update_topology)
)";
constexpr std::string_view kHostNames = R"(
#define smet_init host_init
#define smet_train_step host_train_step
#define smet_eval_step host_eval_step
#define smet_update_topology host_update_topology
)";

/// What differs between the tests' programs.
struct Variant {
  int nanStep = -7, signalStep = -7, signal = 0;
  std::string method = "smet";
  double density = 0.25;
  bool onCard = false;
};

void writeBigram(const fs::path &path, const Variant &variant) {
  Source s;
  s.text = fmt::format("#define V {}\n#define P {}\n#define NAN_STEP {}\n#define SIGNAL_STEP {}\n#define SIGNAL {}\n",
                       kVocabulary, kBatch * 64, variant.nanStep, variant.signalStep, variant.signal);
  s.tensor("lm.weight", "param", "f32", {kVocabulary, kVocabulary});
  s.tensor("s.weight", "param", "f32", {4, 1, 1});
  s.tensor("s.weight.topology.positions", "topology", "i32", {5});
  s.tensor("s.weight.topology.coordinates", "topology", "i16", {4});
  s.tensor("lr_log", "state", "f32", {100});
  s.tensor("prune_log", "state", "f64", {100});
  s.tensor("update_log", "state", "f32", {100});
  for (const char *name : {"tokens", "targets"})
    s.tensor(name, "input", "i32", {kBatch * 64});
  s.tensor("num_valid", "input", "i32", {});
  for (const char *name : {"seed", "step", "update"})
    s.tensor(name, "input", "i64", {});
  s.tensor("lr", "input", "f32", {});
  s.tensor("prune_rate", "input", "f64", {});
  s.tensor("loss", "output", "f32", {});
  nlohmann::json &m = s.builder.manifest;
  m["layers"] = {{{"name", "s.weight"}, {"id", 0}, {"rows", 4}, {"cols", 4}, {"block", {1, 1}}, {"nnz", 4}}};
  m["config"] = {{"method", variant.method}, {"density", variant.density}, {"batch", kBatch},
                 {"seq_len", kSeqLen},       {"padded_seq_len", 64},       {"model", {{"vocab_size", kVocabulary}}}};
  if (variant.onCard)
    m["target"] = "cuda";
  writeProgram(path, m,
               fmt::format("{}{}{}{}", s.text, variant.onCard ? kHostNames : "", kCode, variant.onCard ? kOnCard : ""));
}

class TrainerTest : public ::testing::Test {
protected:
  TrainerTest() : tokenizer(makeTokenizer(folder)) {
    writeFile(folder / "text.txt", makeText(400));
    options.steps = 40;
    options.lr = 0.01;
    options.updateEvery = 10;
    options.evalEvery = 20;
    options.saveEvery = 10;
    options.out.text = (folder / "run").string();
  }

  /// Trains with a program; the arena's tensors are looked at through `instance` afterwards.
  Expected<TrainResult> run(const Variant &variant = {}) {
    fs::path program = folder / fmt::format("p{}.smet", programs++);
    writeBigram(program, variant);
    auto text = TextFiles::find(folder / "text.txt");
    auto shard = TokenShard::open(*text, tokenizer, folder / "cache", [](std::string_view) {});
    pool = std::move(*ThreadPool::create(1));
    instance = std::move(*Instance::load(program, *pool));
    std::FILE *log = std::fopen((folder / "log").c_str(), "w");
    Expected<TrainResult> result;
    {
      Progress progress(log, 10);
      result = train({*instance, *shard, tokenizer, options, progress});
    }
    std::fclose(log);
    return result;
  }

  std::string message(const Expected<TrainResult> &result) { return result ? "no error" : result.error().message; }
  std::string weights(int64_t step) {
    return *readFile(fs::path(options.out.text) / fmt::format("step-{:08}", step) / "model.safetensors");
  }

  TestFolder folder;
  Tokenizer tokenizer;
  TrainOptions options;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Instance> instance;
  int programs = 0;
};

// Topology updates, evaluations, checkpoints and a resume, with the tensors on a card: as on the host.
TEST_F(TrainerTest, TrainsOnACard) {
  ASSERT_TRUE(run());
  std::string expected = weights(40), halfway = weights(20);
  FakeCard card;
  options.out.text = (folder / "card").string();
  options.stopAfter = 20;
  auto stopped = run({.onCard = true});
  ASSERT_TRUE(stopped) << message(stopped);
  EXPECT_EQ(weights(20), halfway);
  options.stopAfter = 0;
  options.resume.text = "auto";
  auto finished = run({.onCard = true});
  ASSERT_TRUE(finished) << message(finished);
  EXPECT_EQ(weights(40), expected);
  auto overlaps = [&](const char *name) {
    std::vector<nlohmann::json> values;
    for (const nlohmann::json &record : readMetrics(folder / name / "metrics.jsonl").value())
      if (record.contains("overlap"))
        values.push_back(record["overlap"]);
    return values;
  };
  EXPECT_FALSE(overlaps("run").empty());
  EXPECT_EQ(overlaps("card"), overlaps("run"));
}

TEST_F(TrainerTest, CallsTheProgramAsTheScheduleSays) {
  auto result = run();
  ASSERT_TRUE(result) << message(result);
  EXPECT_EQ(result->ending, Ending::Finished);
  EXPECT_EQ(result->step, 40);
  auto lr = *instance->arena().tensor<float>("lr_log");
  for (int t = 1; t <= 4; ++t)
    EXPECT_FLOAT_EQ(lr[t], 0.01f * t / 4);
  EXPECT_FLOAT_EQ(lr[40], 0.001f);
  auto update = *instance->arena().tensor<float>("update_log");
  auto prune = *instance->arena().tensor<double>("prune_log");
  for (int t = 1; t <= 40; ++t) // not at the last step, T_end
    EXPECT_EQ(update[t], t % 10 == 0 && t < 40 ? t / 10 : 0) << t;
  EXPECT_NEAR(prune[20], 0.1025, 1e-12);

  auto records = *readMetrics(folder / "run/metrics.jsonl");
  ASSERT_EQ(records.size(), 40u);
  EXPECT_EQ(records[9]["pruned"], 1);
  EXPECT_EQ(records[9]["grown"], 1);
  EXPECT_DOUBLE_EQ(records[9]["overlap"].get<double>(), 0.75);
  EXPECT_FALSE(records[8].contains("pruned"));
  EXPECT_TRUE(records[19].contains("val_loss"));
  EXPECT_TRUE(records[39].contains("val_bits_per_character"));
  EXPECT_LT(records[39]["loss"].get<double>(), records[0]["loss"].get<double>());
  TrainOptions saved;
  EXPECT_TRUE(readToml(saved, folder / "run/config.toml"));
  EXPECT_EQ(saved.steps, 40);
}

TEST_F(TrainerTest, ResumedRunHasTheSameBits) {
  ASSERT_TRUE(run());
  std::string straight = weights(40);
  options.out.text = (folder / "resumed").string();
  options.stopAfter = 17;
  auto stopped = run();
  ASSERT_TRUE(stopped) << message(stopped);
  EXPECT_EQ(stopped->ending, Ending::StoppedAfter);
  EXPECT_EQ(stopped->step, 17);
  options.stopAfter = 0;
  options.resume.text = "auto";
  auto resumed = run();
  ASSERT_TRUE(resumed) << message(resumed);
  EXPECT_EQ(weights(40), straight);
  EXPECT_EQ(readMetrics(folder / "resumed/metrics.jsonl")->size(), 40u);
}

TEST_F(TrainerTest, LossNotFiniteStopsAndNamesTheLastCheckpoint) {
  auto result = run({.nanStep = 25});
  ASSERT_TRUE(result) << message(result);
  EXPECT_EQ(result->ending, Ending::LossNotFinite);
  EXPECT_EQ(result->step, 24);
  EXPECT_EQ(result->checkpoint.filename(), "step-00000020");
  EXPECT_EQ((*instance->arena().tensor<float>("lr_log"))[25], 0); // the program applied nothing
}

TEST_F(TrainerTest, SignalFinishesTheStepAndSaves) {
  for (int signal : {SIGINT, SIGTERM}) {
    options.out.text = (folder / fmt::format("run{}", signal)).string();
    Interrupt interrupt;
    auto result = run({.signalStep = 13, .signal = signal});
    ASSERT_TRUE(result) << message(result);
    EXPECT_EQ(result->ending, Ending::Interrupted);
    EXPECT_EQ(result->signal, signal);
    EXPECT_EQ(result->step, 13);
    EXPECT_EQ(result->checkpoint.filename(), "step-00000013");
  }
}

TEST_F(TrainerTest, RefusesToOverwriteOrToResumeAnotherRun) {
  options.stopAfter = 10;
  ASSERT_TRUE(run());
  EXPECT_NE(message(run()).find("--resume"), std::string::npos);
  options.stopAfter = 20;
  options.resume.text = "auto";
  EXPECT_NE(message(run({.method = "static"})).find("method (\"smet\", now \"static\")"), std::string::npos);
  EXPECT_NE(message(run({.density = 0.5})).find("density (0.25, now 0.5)"), std::string::npos);
  options.seed = 43;
  EXPECT_NE(message(run()).find("seed"), std::string::npos);
  options.seed = 42;
  EXPECT_TRUE(run());
  options.resume.text = (folder / "empty").string();
  EXPECT_NE(message(run()).find("no checkpoint"), std::string::npos);
}

TEST_F(TrainerTest, StaticNeverUpdates) {
  ASSERT_TRUE(run({.method = "static"}));
  auto update = *instance->arena().tensor<float>("update_log");
  EXPECT_EQ(std::ranges::count(update, 0.f), 100);
}

TEST_F(TrainerTest, DamagedCheckpointFallsBackToTheOneBefore) {
  options.stopAfter = 20;
  ASSERT_TRUE(run());
  fs::path damaged = folder / "run/step-00000020/model.safetensors";
  fs::resize_file(damaged, fs::file_size(damaged) / 2);
  options.resume.text = "auto";
  options.stopAfter = 11;
  auto result = run();
  ASSERT_TRUE(result) << message(result);
  EXPECT_EQ(result->step, 11);
  EXPECT_NE(readFile(folder / "log")->find("warning"), std::string::npos);
}

TEST_F(TrainerTest, UnwritableOutIsAnError) {
  writeFile(folder / "file", "x");
  options.out.text = (folder / "file/run").string();
  EXPECT_NE(message(run()).find("file/run"), std::string::npos);
}

} // namespace
