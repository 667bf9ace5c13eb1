//===- BadInputTest.cpp - bad input to the built tools --------------------===//
//
// Each is a message that says what is wrong, an exit code, and nothing lost. What the runtime refuses before it
// compiles is in test/unit/runtime/CliTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "Tools.h"

#include <sys/mount.h>

using namespace smet::test;
using namespace smet::rt;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

class BadInputTest : public Tools {
protected:
  void expectTrain(const std::string &flags, std::initializer_list<std::string_view> parts, int code = 1) {
    expect("smet train --config small.toml --out bad " + flags, code, parts);
    EXPECT_FALSE(fs::exists(folder / "bad/metrics.jsonl")) << flags;
  }

  /// Trains 20 of 40 steps, saved after 10 and 20; the tensors of both.
  void trainHalf() {
    ASSERT_EQ(train("--stop-after 20 --save-every 10"), 0) << output;
    atTen = tensors("run", 10);
    atTwenty = tensors("run", 20);
  }
  /// That is all still there.
  void expectNothingLost() {
    EXPECT_TRUE(tensors("run", 10) == atTen && tensors("run", 20) == atTwenty);
    EXPECT_FALSE(fs::exists(checkpoint("run", 40)));
  }
  std::string atTen, atTwenty;
};

/// A file system of its own, where the test may mount one.
struct SmallDisk {
  SmallDisk(const fs::path &path, const char *size) : path(path) {
    fs::create_directory(path);
    mounted = mount("tmpfs", path.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted)
      umount2(path.c_str(), MNT_DETACH);
  }
  fs::path path;
  bool mounted;
};

/// Flips a bit in the middle of a file.
void flipBit(const fs::path &path) {
  std::string bytes = readFile(path).value();
  bytes[bytes.size() / 2] ^= 4;
  writeFile(path, bytes);
}

} // namespace

TEST_F(BadInputTest, Data) {
  writeFile(folder / "bytes.txt", makeText(100) + "\xff" + makeText(100));
  expectTrain("--data bytes.txt", {"smet: error: 'bytes.txt' is not UTF-8: invalid byte 0xff at offset "});
  writeFile(folder / "short.txt", "the end");
  expectTrain("--data short.txt", {"smet: error: the data is too short: ", "a sequence of length 64 takes 65",
                                   "use more text or a smaller --seq-len"});
  writeFile(folder / "empty.txt", "");
  expectTrain("--data empty.txt", {"smet: error: the data 'empty.txt' is empty"});
  expectTrain("--data none.txt", {"smet: error: the data 'none.txt' does not exist"});
}

TEST_F(BadInputTest, ModelsThatCannotBeMadeSparse) {
  expectTrain("--block 7x5",
              {"smet: error: block 7x5 does not divide layer model.layers.0.self_attn.q_proj.weight of shape 64x64; "
               "the nearest blocks that divide every sparse layer: 4x4, 4x8, 8x4, 8x8"});
  expectTrain("--density 0.001",
              {"smet: error: density 0.001 leaves layer model.layers.0.self_attn.q_proj.weight of shape 64x64 without "
               "a block (16 blocks of 16x16); use at least 0.03125 or a smaller block"});
  for (const char *density : {"0", "-0.1", "1.5"})
    expectTrain(fmt::format("--density={}", density), {"smet: error: --density must be in (0, 1], got"});
}

TEST_F(BadInputTest, ModelConfigurations) {
  auto expectModel = [&](const nlohmann::json &changes, std::initializer_list<std::string_view> parts) {
    writeModel("bad.json", changes);
    expectTrain("--model bad.json", parts);
  };
  expectModel({{"num_attention_heads", 3}}, {"num_attention_heads = 3 does not divide hidden_size = 64"});
  expectModel({{"sliding_window", 64}, {"use_cache", true}, {"qk_norm", true}},
              {"unknown keys that may change the model: qk_norm, sliding_window\n"});
  expectModel({{"hidden_act", "gelu"}}, {"hidden_act = \"gelu\" is not supported"});
  expectModel({{"hidden_size", "64"}}, {"hidden_size must be an integer, got \"64\""});
  expectModel({{"vocab_size", 200}}, {"has 300 pieces, the model's vocab_size is 200"});
  expectModel({{"max_position_embeddings", 32}}, {"sequence length 64 is longer"});
}

TEST_F(BadInputTest, ValuesTooLargeForTheMachine) {
  expectTrain("--batch-size 1000000000", {"more than a 32-bit index can count"});
  expectTrain("--batch-size 1000000", {"cannot allocate the program's memory of "});
  expectTrain("--threads 4294967297", {"--threads must be at most 4096"});
}

TEST_F(BadInputTest, FoldersThatCannotBeWritten) {
  for (const char *out : {"/proc/run", "text.txt/run", "text.txt"})
    expect(fmt::format("smet train --config small.toml --out {}", out), 1,
           {out, ": the run's folder cannot be made: "});
  expect("smet train --config small.toml --cache-dir /proc/cache", 1, {"choose another with --cache-dir"});
  expect("smet compile --config small.toml --out none/x.smet", 1, {"cannot write 'none/x.smet'"});
  expect("smet train --config small.toml --steps 1 >/dev/full", 1, {"the output could not be written completely"});
  EXPECT_TRUE(fs::exists(checkpoint("run", 1))); // the run itself is complete
}

// A disk with room for one checkpoint, not for two.
TEST_F(BadInputTest, AFullDiskKeepsTheLastCheckpoint) {
  SmallDisk disk(folder / "disk", "size=900k");
  if (!disk.mounted)
    GTEST_SKIP() << "no disk can be mounted here; Checkpoint.AFullDiskLeavesEarlierOnesAndNothingElse has a limit";
  EXPECT_EQ(train("--out disk/run --save-every 10 --block 8x8"), 1);
  EXPECT_THAT(output, HasSubstr("No space left on device; free some space there or choose another folder"));
  EXPECT_THAT(output, HasSubstr("the last good checkpoint is disk/run/step-00000010; continue from it with --resume"));
  std::vector<std::string> left;
  for (const auto &entry : fs::directory_iterator(folder / "disk/run"))
    left.push_back(entry.path().filename().string());
  EXPECT_THAT(left, testing::UnorderedElementsAre("config.toml", "metrics.jsonl", "step-00000010"));

  ASSERT_EQ(mount("tmpfs", (folder / "disk").c_str(), "tmpfs", MS_REMOUNT, "size=9m"), 0);
  EXPECT_EQ(run("smet train --resume --out disk/run"), 0) << output;
  ASSERT_EQ(train("--out straight --block 8x8"), 0);
  EXPECT_TRUE(tensors("disk/run", 40) == tensors("straight", 40));
}

TEST_F(BadInputTest, DamagedCheckpointsFallBackAndSaySo) {
  trainHalf();
  ASSERT_EQ(train("--out straight"), 0);
  auto damage = [&](auto how) {
    run("rm -rf damaged; cp -r run damaged");
    how(checkpoint("damaged", 20) / "model.safetensors");
    expect("smet train --resume --out damaged", 0,
           {"warning: the checkpoint of step 20 cannot be used (", "); falling back to the previous one",
            "resumed from damaged/step-00000010 (step 10)"});
    EXPECT_TRUE(tensors("damaged", 40) == tensors("straight", 40));
  };
  damage(flipBit);
  damage([](const fs::path &path) { fs::resize_file(path, fs::file_size(path) / 2); });
  damage([](const fs::path &path) { flipBit(path.parent_path() / "state.json"); });

  run("cp -r run worse");
  for (int64_t step : {10, 20})
    flipBit(checkpoint("worse", step) / "model.safetensors");
  for (const char *command : {"train --resume --out worse", "eval --checkpoint worse", "generate --checkpoint worse"})
    expect(fmt::format("smet {}", command), 1, {"error: no checkpoint in 'worse' can be used", "step-00000010"});
  expect("smet eval --checkpoint worse/step-00000010", 1, {"is damaged: its checksum is wrong"});
  expectNothingLost();
}

TEST_F(BadInputTest, DamagedPrograms) {
  useOwnCache();
  ASSERT_EQ(run("smet compile --config small.toml --out whole.smet"), 0) << output;
  std::string flags = "--data text.txt --tokenizer tokenizer.model --out bad";
  for (const char *damage : {"truncate -s -1", "truncate -s -5000", "truncate -s 100", "truncate -s 0"})
    expect(fmt::format("cp whole.smet cut.smet; {} cut.smet; smet-run train --program cut.smet {}", damage, flags), 1,
           {"smet-run: error: 'cut.smet' is"});
  EXPECT_FALSE(fs::exists(folder / "bad"));

  // One in the cache is made anew.
  ASSERT_EQ(run("truncate -s -5000 cache/smet/programs/*.smet"), 0);
  expect("smet train --config small.toml --steps 1", 0, {"smet: warning: '", "compiled again now"});
  expect("smet train --config small.toml --steps 1 --out again", 0, {});
  EXPECT_THAT(output, Not(HasSubstr("warning")));
}

TEST_F(BadInputTest, ResumingAsAnotherRun) {
  trainHalf();
  std::string differs = "cannot resume from run/step-00000020: it was trained with another ";
  expect("smet train --resume --out run --seed 43", 1, {"the checkpoint has another seed (42, not 43)"});
  expect("smet train --resume --out run --density 0.5", 1, {differs + "density (0.25, now 0.5)"});
  expect("smet train --resume --out run --method static", 1, {differs, "method (\"smet\", now \"static\")"});
  writeModel("wide.json", {{"intermediate_size", 128}});
  expect("smet train --resume --out run --model wide.json", 1,
         {differs + "model.intermediate_size (96, now 128); resume with what it was started with"});
  ASSERT_EQ(run("smet tokenizer train --data text.txt --vocab-size 290 --out other.model"), 0) << output;
  expect("smet train --resume --out run --tokenizer other.model", 1, {"the checkpoint has another tokenizer"});
  writeFile(folder / "more.txt", makeText(601));
  expect("smet train --resume --out run --data more.txt", 1, {differs + "number of tokens in the data ("});
  expect("smet train --config small.toml", 1, {"run holds a run at step 20: continue it with --resume"});
  expect("smet train --config small.toml --resume none", 1, {"--resume: 'none' is not the folder of a run"});
  expect("mkdir empty; smet train --config small.toml --resume empty", 1, {"empty holds no checkpoint to resume from"});
  expectNothingLost();
  expect(
      "smet train --resume --out run --steps 30 --prune-rate 0.1", 0,
      {"the run goes on with other settings than it was started with: steps (40, now 30), prune-rate (0.2, now 0.1)"});
}

TEST_F(BadInputTest, GoingBackLeavesLaterCheckpointsAside) {
  trainHalf();
  expect("smet train --resume run/step-00000010 --stop-after 15", 0,
         {"resumed from run/step-00000010", "the checkpoints of step 20 are kept as abandoned-step-*"});
  EXPECT_TRUE(fs::exists(folder / "run/abandoned-step-00000020/state.json"));
  expect("smet train --resume --out run --stop-after 16", 0, {"resumed from run/step-00000015"});
  ASSERT_EQ(train("--out other --steps 1"), 0);
  expect("smet train --resume run --out other", 1, {"other holds another run; choose another --out"});
  expect("smet train --resume run --out new --stop-after 20", 0, {"resumed from run/step-00000016"});
  EXPECT_TRUE(tensors("new", 20) == atTwenty);
}

TEST_F(BadInputTest, LossThatIsNotFiniteStopsBeforeTheOptimizer) {
  // Weights grow by a factor of a million a step; the loss of step 3 is the first to overflow.
  std::string flags = "--lr 1000 --lr-warmup 0 --weight-decay 1000 --save-every 1 ";
  EXPECT_EQ(train(flags), 3);
  EXPECT_THAT(output, HasSubstr("smet: error: the loss of step 3 is NaN or infinite; training stopped before the "
                                "optimizer changed anything; the last good checkpoint is run/step-00000001; go back to "
                                "it with --resume run/step-00000001"));
  EXPECT_FALSE(fs::exists(checkpoint("run", 3)));
  EXPECT_EQ(train(flags + "--resume"), 3) << "step 2 leads there again";
  EXPECT_THAT(output, HasSubstr("the loss of step 3 is NaN"));
  expect("smet train --resume run/step-00000001 --lr 0.001", 0, {"step 40/40"});
  EXPECT_EQ(train("--lr 1000 --lr-warmup 0 --weight-decay 1000 --out unsaved"), 3);
  EXPECT_THAT(output, HasSubstr("there is no good checkpoint before it"));
}

TEST_F(BadInputTest, ConfigurationFiles) {
  auto expectConfig = [&](std::string_view text, std::initializer_list<std::string_view> parts) {
    writeFile(folder / "c.toml", text);
    expect("smet train --config c.toml", 1, parts);
  };
  expectConfig("model = \"model.json\"\nlearning-rate = 1\n", {"c.toml:2: unknown key 'learning-rate'"});
  expectConfig("step = 1\n", {"c.toml:1: unknown key 'step'; did you mean 'steps'?"});
  expectConfig("steps = \"10\"\n", {"c.toml:1: steps: expected a number"});
  expectConfig("steps = 1.5\n", {"c.toml:1: steps: expected a whole number"});
  expectConfig("lr = nan\n", {"c.toml:1: lr: expected a number"});
  expectConfig("out = 3\n", {"c.toml:1: out: expected a string in quotes"});
  expectConfig("out = \"\"\n", {"no folder for the run: give --out DIR"});
  expectConfig("dry-run = 1\n", {"c.toml:1: dry-run: expected true or false"});
  expectConfig("steps = 1\nsteps = 2\n", {"c.toml:2: "});
  expect("smet train --config none.toml", 1, {"none.toml: no such configuration file"});
  expect("smet train --config ''", 1, {"--config: is empty"});
  expect("smet train --preset ''", 1, {"--preset: is empty"});
}

TEST_F(BadInputTest, FlagsOfEvalAndGenerate) {
  ASSERT_EQ(train("--steps 1"), 0) << output;
  auto expectGenerate = [&](std::string_view flags, std::string_view part) {
    expect(fmt::format("smet generate --checkpoint run {}", flags), 1, {"smet: error: ", part});
  };
  expectGenerate("--num 0", "--num must be at least 1");
  expectGenerate("--max-tokens 0", "--max-tokens must be at least 1");
  expectGenerate("--temperature -1", "--temperature must be a number of at least 0");
  expectGenerate("--temperature nan", "--temperature must be a number of at least 0");
  expectGenerate("--top-k -1", "--top-k must be at least 0");
  expectGenerate("--top-p 0", "--top-p must be in (0, 1]");
  expectGenerate("--top-p nan", "--top-p must be in (0, 1]");
  expectGenerate("--seed -1", "--seed must be at least 0");
  expectGenerate("--prompt $'\\xff'", "--prompt is not UTF-8");
  expectGenerate("--prompt \"$(cat text.txt)\"", "and the model's context only 64; shorten it");
  expectGenerate("--tokenizer none", "none");
  ASSERT_EQ(
      run("head -c 3000 text.txt > part.txt; smet tokenizer train --data part.txt --vocab-size 290 --out other.model"),
      0)
      << output;
  expectGenerate("--tokenizer other.model", "was trained with another tokenizer");
  expect("smet eval --checkpoint run --tokenizer other.model", 1,
         {"run/step-00000001 was trained with another tokenizer"});
  expect("cp tokenizer.model same.model; smet eval --checkpoint run --tokenizer same.model", 0, {"perplexity"});
  expect("smet eval --checkpoint run --batches -1", 1, {"--batches must be at least 0"});
  expect("smet eval --checkpoint run --threads -1", 1, {"--threads must be in [0, 4096]"});
  expect("smet eval --checkpoint none", 1, {"'none' is not the folder of a run"});
  expect("smet inspect none", 1, {"none: no such file or folder"});
  expect("smet inspect .", 1, {". holds no checkpoint"});
  expect("cp -r run/step-00000001 alone; smet compile --config small.toml --out p.smet; "
         "smet-run eval --program p.smet --checkpoint alone",
         1, {"config.toml: no such configuration file; without it, give --data and --tokenizer"});
}
