//===- TrainTest.cpp - training runs from text to checkpoint --------------===//

#include "Tools.h"
#include "Topologies.h"

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/train/Metrics.h"

using namespace smet::test;
using namespace smet::rt;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

class TrainTest : public Tools {
protected:
  std::vector<nlohmann::json> metrics(std::string_view run) {
    auto records = readMetrics(folder / run / "metrics.jsonl");
    EXPECT_TRUE(records) << messageOf(records);
    return records.value_or(std::vector<nlohmann::json>());
  }
};

} // namespace

// Issue 2, acceptance 4: with three topology updates, one of them before the stop.
TEST_F(TrainTest, SameBitsForAnyThreadsAndAcrossAResume) {
  for (const char *block : {"16x16", "1x1"}) {
    std::string flags = fmt::format("--block {} --out ", block);
    ASSERT_EQ(train(flags + "one --threads 1"), 0) << output;
    ASSERT_EQ(train(flags + "two --threads 2"), 0) << output;
    ASSERT_EQ(train(flags + "parts --threads 2 --stop-after 17"), 0) << output;
    EXPECT_THAT(output, HasSubstr("stopped after step 17 of 40, saved in parts/step-00000017; continue with --resume"));
    EXPECT_FALSE(fs::exists(checkpoint("parts", 40)));
    ASSERT_EQ(run("smet train --resume --out parts --threads 1"), 0) << output; // all else as in its config.toml
    EXPECT_THAT(output, HasSubstr("resumed from parts/step-00000017 (step 17)"));
    EXPECT_THAT(output, Not(HasSubstr("warning")));

    ASSERT_EQ(train(flags + "other --seed 43"), 0) << output;

    std::string one = tensors("one", 40);
    ASSERT_FALSE(one.empty());
    EXPECT_TRUE(one == tensors("two", 40)) << block;
    EXPECT_TRUE(one == tensors("parts", 40)) << block;
    EXPECT_FALSE(one == tensors("parts", 17)) << block;
    EXPECT_FALSE(one == tensors("other", 40)) << block;
    run("rm -r one two parts other");
  }
}

// Half the memory for activations and sparse weights, about the same loss, the same bits whatever the threads.
TEST_F(TrainTest, StoredInBF16) {
  for (const char *block : {"16x16", "1x1"}) {
    std::string flags = fmt::format("--block {} --method static --steps 40 ", block);
    ASSERT_EQ(train(flags + "--out f32"), 0) << output;
    ASSERT_EQ(train(flags + "--dtype bf16 --threads 1 --out one"), 0) << output;
    ASSERT_EQ(train(flags + "--dtype bf16 --threads 2 --stop-after 17 --out parts"), 0) << output;
    ASSERT_EQ(run("smet train --resume --out parts"), 0) << output;
    EXPECT_TRUE(tensors("one", 40) == tensors("parts", 40)) << block;

    auto f32 = metrics("f32"), bf16 = metrics("one");
    for (size_t i = 0; i < 40; ++i) {
      double loss = f32[i]["loss"];
      EXPECT_NEAR(bf16[i]["loss"].get<double>(), loss, 0.02 * loss) << "step " << i + 1 << " block " << block;
    }
    EXPECT_NE(bf16[39]["loss"], f32[39]["loss"]);

    auto file = SafetensorsFile::open(checkpoint("one", 40) / "model.safetensors");
    ASSERT_TRUE(file) << messageOf(file);
    EXPECT_EQ(file->find("model.layers.0.mlp.up_proj.weight")->dtype, "BF16");
    EXPECT_EQ(file->find("model.layers.0.mlp.up_proj.weight.m")->dtype, "F32");
    EXPECT_EQ(file->find("model.embed_tokens.weight")->dtype, "F32");
    expect("smet generate --checkpoint one --prompt a --max-tokens 3", 0, {});
    expect("smet eval --checkpoint one", 0, {"perplexity"});
    run("rm -r f32 one parts");
  }
  expect("smet train --config small.toml --dtype bf16 --target reference", 1, {"--dtype bf16", "--target cpu"});
  expect("smet train --config small.toml --dtype f16", 1, {"--dtype", "expected one of f32, bf16"});
}

// Issue 2, acceptance 3, on the command line. The topology stays, since rounding may flip a prune decision.
TEST_F(TrainTest, ReferenceAndCpuHaveTheSameLoss) {
  for (const char *block : {"16x16", "1x1"}) {
    std::string flags = fmt::format("--method static --steps 20 --save-every 5 --keep 4 --block {} ", block);
    ASSERT_EQ(train(flags + "--target cpu --out cpu"), 0) << output;
    ASSERT_EQ(train(flags + "--target reference --out reference"), 0) << output;
    auto cpu = metrics("cpu"), reference = metrics("reference");
    ASSERT_EQ(cpu.size(), 20u);
    ASSERT_EQ(reference.size(), 20u);
    for (size_t i = 0; i < 20; ++i) {
      double loss = reference[i]["loss"];
      EXPECT_NEAR(cpu[i]["loss"].get<double>(), loss, 1e-5 * loss) << "step " << i + 1 << " block " << block;
    }
    EXPECT_LT(cpu[19]["loss"].get<double>(), cpu[0]["loss"].get<double>() - 0.5) << "it learns";
    EXPECT_EQ(topology(checkpoint("cpu", 5)), topology(checkpoint("cpu", 20))) << "static";
    run("rm -r cpu reference");
  }
}

TEST_F(TrainTest, MetricsTellWhatTheProgressLineTellsAndTheUpdates) {
  ASSERT_EQ(train("--block 8x8 --prune-schedule constant --save-every 5 --keep 10 --log-every 1 --eval-every 20"), 0)
      << output;
  auto records = metrics("run");
  ASSERT_EQ(records.size(), 40u);
  auto start = topology(checkpoint("run", 5)), before = start;
  int64_t blocks = common(start, start);
  ASSERT_GT(blocks, 50);
  for (int64_t step = 1; step <= 40; ++step) {
    const nlohmann::json &r = records[step - 1];
    for (const char *key : {"tokens_per_second", "ms_per_step", "memory_bytes", "eta_seconds"})
      EXPECT_TRUE(r.contains(key) && r[key].is_number() && r[key] >= 0) << r;
    EXPECT_EQ(r["step"], step);
    double loss = r["loss"], lr = r["lr"];
    EXPECT_NEAR(r["perplexity"].get<double>(), std::exp(loss), 1e-9 * std::exp(loss));
    EXPECT_THAT(output, HasSubstr(fmt::format("step {}/{}  loss {:.4f}  ppl {:.2f}  lr {:.2e}  ", step,
                                              r["steps"].get<int64_t>(), loss, std::exp(loss), lr)));
    EXPECT_EQ(r.contains("val_loss"), step % 20 == 0);
    bool updated = step % 10 == 0 && step < 40;
    EXPECT_EQ(r.contains("pruned") && r.contains("grown") && r.contains("overlap"), updated) << r;
    if (!updated)
      continue;
    auto after = topology(checkpoint("run", step));
    EXPECT_EQ(common(after, after), blocks);
    EXPECT_EQ(r["update"], step / 10);
    EXPECT_EQ(r["pruned"], blocks - common(before, after));
    EXPECT_EQ(r["grown"], r["pruned"]);
    EXPECT_GT(r["pruned"], 0);
    EXPECT_DOUBLE_EQ(r["overlap"].get<double>(), double(common(start, after)) / double(blocks));
    before = after;
  }
}

TEST_F(TrainTest, TheSavedConfigurationReproducesTheRun) {
  ASSERT_EQ(
      train("--steps 12 --lr 3e-3 --lr-schedule wsd --lr-warmup 0.25 --update-every 4 --prune-rate 0.5 --beta2 0.99 "
            "--weight-decay 0.1 --warmup-updates 3 --seed 7 --block 8x16"),
      0)
      << output;
  ASSERT_EQ(run("cp run/config.toml saved.toml; smet train --config saved.toml --out again"), 0) << output;
  EXPECT_TRUE(tensors("run", 12) == tensors("again", 12));
  ASSERT_EQ(run("smet train --config saved.toml --out other --lr 1e-3"), 0) << output; // the command line wins
  EXPECT_FALSE(tensors("run", 12) == tensors("other", 12));
  EXPECT_THAT(readFile(folder / "other/config.toml").value(), HasSubstr("\nlr = 0.001\n"));
}

// No option is read and ignored: each of these alone changes what is trained.
TEST_F(TrainTest, EveryFlagOfTheOptimizerAndTheSchedulesCounts) {
  ASSERT_EQ(run("sed 's/^steps.*/steps = 12/; s/^update-every.*/update-every = 4/' small.toml >base.toml; "
                "echo 'block = \"8x8\"' >>base.toml; smet train --config base.toml --out base"),
            0)
      << output;
  std::string expected = tensors("base", 12);
  for (const char *flag :
       {"--warmup-updates 2", "--beta1 0.8", "--beta2 0.99", "--eps 1e-3", "--weight-decay 0.1", "--lr 0.02",
        "--lr-schedule linear", "--lr-warmup 0.5", "--lr-final 0.5", "--update-every 3", "--update-until 8",
        "--prune-rate 0.5", "--prune-rate-final 0.1", "--prune-schedule constant", "--seed 1"}) {
    ASSERT_EQ(run(fmt::format("smet train --config base.toml {} --out other", flag)), 0) << flag << "\n" << output;
    EXPECT_FALSE(tensors("other", 12) == expected) << flag;
    run("rm -r other");
  }
  for (const char *flag : {"--threads 3", "--log-every 1", "--eval-every 3", "--eval-batches 1", "--save-every 0",
                           "--keep 1", "--cache-dir tokens"}) {
    ASSERT_EQ(run(fmt::format("smet train --config base.toml {} --out other", flag)), 0) << flag << "\n" << output;
    EXPECT_TRUE(tensors("other", 12) == expected) << flag;
    run("rm -r other");
  }
}

TEST_F(TrainTest, FlagsOfTheRunDoWhatTheySay) {
  ASSERT_EQ(train("--steps 12 --save-every 2 --keep 2 --log-every 5 --eval-every 6 --eval-batches 1"), 0) << output;
  std::set<std::string> saved;
  for (const auto &entry : fs::directory_iterator(folder / "run"))
    saved.insert(entry.path().filename().string());
  EXPECT_EQ(saved, (std::set<std::string>{"config.toml", "metrics.jsonl", "step-00000010", "step-00000012"}));
  std::string steps;
  for (size_t at = 0; (at = output.find("\nstep ", at)) != std::string::npos; ++at)
    steps += output.substr(at + 5, output.find_first_of("/:", at) - at - 5);
  EXPECT_EQ("1" + steps, "1 5 6 10 12 12"); // 6 and the second 12 are evaluations
  EXPECT_THAT(output, HasSubstr("step 6: validation loss "));
  EXPECT_THAT(output, HasSubstr("(256 tokens)")); // one batch of 4 x 64

  ASSERT_EQ(train("--steps 12 --save-every 0 --eval-every 0 --out last"), 0) << output;
  EXPECT_FALSE(fs::exists(checkpoint("last", 6)));
  EXPECT_TRUE(metrics("last")[11].contains("val_loss"));
  expect("smet train --config small.toml --dry-run --out none --data none", 0, {"FLOPs a step", "optimizer state"});
  EXPECT_FALSE(fs::exists(folder / "none"));
  EXPECT_EQ(train("--resume auto --steps 1 --out fresh"), 0) << output; // auto: continue if there is something
}

TEST_F(TrainTest, TheRuntimeContainsNoLlvm) {
  for (const char *file : {"smet", "smet-run"})
    ASSERT_EQ(run(fmt::format("ldd $(command -v {})", file)), 0) << output;
  EXPECT_THAT(output, HasSubstr("libsmet_runtime")); // whose libraries ldd lists too
  for (const char *library : {"LLVM", "MLIR"})
    EXPECT_THAT(output, Not(HasSubstr(library)));
}

TEST_F(TrainTest, DenseHasNoTopology) {
  ASSERT_EQ(train("--method dense --steps 3"), 0) << output;
  EXPECT_TRUE(topology(checkpoint("run", 3)).empty());
}

// What one tool makes, the other continues, evaluates and speaks with.
TEST_F(TrainTest, SmetRunDoesWhatSmetDoes) {
  ASSERT_EQ(run("smet compile --config small.toml --out train.smet"), 0) << output;
  ASSERT_EQ(run("smet compile --config small.toml --kind infer --out infer.smet"), 0) << output;
  ASSERT_EQ(train("--out straight"), 0) << output;
  std::string flags = "--data text.txt --tokenizer tokenizer.model --steps 40 --lr 0.01 --update-every 10 --out parts";
  ASSERT_EQ(run("smet-run train --program train.smet --stop-after 17 " + flags), 0) << output;
  ASSERT_EQ(run("smet-run train --program train.smet --resume --out parts"), 0) << output;
  EXPECT_TRUE(tensors("straight", 40) == tensors("parts", 40));

  ASSERT_EQ(run("smet-run eval --program train.smet --checkpoint parts"), 0) << output;
  std::string line = output;
  EXPECT_THAT(line, HasSubstr(fmt::format("loss {:.4f}  ", metrics("straight")[39]["val_loss"].get<double>())));
  expect("smet eval --checkpoint straight", 0, {line});
  expect("smet-run eval --program train.smet --checkpoint straight/step-00000040 --data text.txt "
         "--tokenizer tokenizer.model",
         0, {line});
  expect("cd straight/step-00000040 && smet eval --checkpoint .", 0, {line});

  for (const char *sampling : {"--temperature 0", "--seed 5 --num 2 --max-tokens 9", "--prompt 'the ' --stop e"}) {
    ASSERT_EQ(run(fmt::format("smet-run generate --program infer.smet --checkpoint parts {}", sampling)), 0) << output;
    std::string text = output;
    EXPECT_GT(text.size(), 4u);
    ASSERT_EQ(run(fmt::format("smet generate --checkpoint straight {}", sampling)), 0) << output;
    EXPECT_EQ(output, text);
  }

  expect("smet-run info --program infer.smet", 0, {"program: infer for cpu (", "), entry points prefill, decode"});
  ASSERT_EQ(run("smet-run info --program train.smet"), 0);
  std::string info = output;
  EXPECT_THAT(info, HasSubstr("model.layers.0.mlp.down_proj.weight"));
  expect("smet inspect train.smet", 0, {info});
  expect("smet inspect straight", 0, {"step 40", "7 sparse layers"});

  std::string kind = "is a program of kind";
  expect("smet-run eval --program infer.smet --checkpoint parts", 1, {kind, "--kind train"});
  expect("smet-run generate --program train.smet --checkpoint parts", 1, {kind, "--kind infer"});
  expect("smet-run train --program infer.smet " + flags, 1, {kind, "--kind train"});
  expect("smet-run train --program infer.smet --dry-run", 1, {kind, "--kind train"});
  expect("sed 's/0.25/0.5/' small.toml >half.toml; smet-run train --program train.smet --config half.toml", 1,
         {"the configuration says density = 0.5, but 'train.smet' was compiled with 0.25"});
}
