//===- CliTest.cpp - the built smet, with a stand-in for the compiler -----===//

#include "FakeCard.h"
#include "TestData.h"

#include <sys/wait.h>

using namespace smet::rt;
using namespace smet::test;
namespace fs = std::filesystem;

namespace {

class CliTest : public ::testing::Test {
protected:
  CliTest() {
    makeTokenizer(folder);
    writeFile(folder / "text.txt", makeText(400));
    writeFile(folder / "model.json", R"({"vocab_size": 300, "hidden_size": 64})");
    compiler("exit 1");
  }

  /// Makes smet-compile a shell script.
  void compiler(std::string_view body) {
    writeFile(folder / "smet-compile", fmt::format("#!/bin/sh\n{}\n", body));
    fs::permissions(folder / "smet-compile", fs::perms::owner_all);
  }

  /// Runs smet; its exit code, with what it printed in `output`.
  int smet(std::string_view arguments) {
    std::string log = (folder / "output").string();
    int status = std::system(fmt::format("cd '{}' && SMET_COMPILE='{}/smet-compile' XDG_CACHE_HOME='{}/cache' "
                                         "'{}/bin/smet' {} >'{}' 2>&1",
                                         folder.path.string(), folder.path.string(), folder.path.string(),
                                         SMET_BINARY_DIR, arguments, log)
                                 .c_str());
    output = *readFile(log);
    return WEXITSTATUS(status);
  }
  bool printed(std::string_view text) const { return output.find(text) != std::string::npos; }

  static constexpr std::string_view train =
      "train --model model.json --data text.txt --tokenizer tokenizer.model --out run ";
  TestFolder folder;
  std::string output;
};

TEST_F(CliTest, HelpTeaches) {
  EXPECT_EQ(smet("--help"), 0);
  EXPECT_TRUE(printed("tokenizer train")) << output;
  EXPECT_EQ(smet("train --help"), 0);
  for (const char *part : {"--density", "--stop-after", "Examples:", "Exit codes:", "--lr LR=0.001"})
    EXPECT_TRUE(printed(part)) << part;
}

TEST_F(CliTest, TellsHowFarTuningIs) {
  compiler("echo 'tuning: 3 of 9 sparse products, about 12 s left' >&2; sleep 3; exit 1");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(output.starts_with("tuning: 3 of 9 sparse products, about 12 s left\nsmet: ")) << output;
  compiler("sleep 3; exit 1");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(output.starts_with("compiling ...\nsmet: ")) << output;
}

TEST_F(CliTest, WrongCommandLineIsCodeTwo) {
  EXPECT_EQ(smet(""), 2);
  EXPECT_EQ(smet("train --bogus"), 2);
  EXPECT_EQ(smet("fly --high"), 2);
  EXPECT_TRUE(printed("smet: error: there is no command 'fly'; there are train, eval, generate, ")) << output;
  EXPECT_EQ(smet("tokenizer fly"), 2);
  EXPECT_TRUE(printed("there is no command 'fly'; there are train\n")) << output;
  EXPECT_EQ(smet("compile"), 2);
  EXPECT_TRUE(printed("--out is required")) << output;
}

TEST_F(CliTest, BadInputIsCodeOneAndNamed) {
  auto expect = [&](std::string_view arguments, std::string_view part) {
    EXPECT_EQ(smet(arguments), 1) << arguments;
    EXPECT_TRUE(printed("smet: error: ") && printed(part)) << arguments << "\n" << output;
  };
  expect("train --density 0", "--density must be in (0, 1]");
  expect("train --block 16", "--block: expected ROWSxCOLS");
  expect("eval --checkpoint x --threads many", "--threads");
  expect("compile --out x --kind other", "--kind: other not in {train,infer}");
  expect("train --method dense --density 0.5", "--density means nothing with --method dense; leave it out");
  expect("train --method dense --block 1x1", "--block means nothing with --method dense");
  expect("train --method static --prune-rate 0.1", "--prune-rate means nothing with --method static");
  expect("train --method static --warmup-updates 3", "--warmup-updates means nothing with --method static");
  expect("train --method static --density 0.1 --block 1x1", "no model: give --model");
  expect("train --resume nowhere", "--resume: 'nowhere' is not the folder of a run");
  expect("tokenizer train --data text.txt --out t.model --vocab-size 3",
         "cannot train a tokenizer of 3 pieces: unknown, start, end and line break alone are 4");
  expect("train", "no model: give --model");
  expect("train --model none.json", "none.json");
  expect("train --model text.txt", "not a JSON object");
  expect("train --model model.json", "no text: give --data");
  expect("train --model model.json --data none", "none");
  expect("train --model model.json --data text.txt", "smet tokenizer train");
  expect("train --model model.json --data text.txt --tokenizer t.model", "smet tokenizer train");
  expect("train --preset huge", "presets: tiny");
  expect("train --config none.toml", "none.toml: no such configuration file");
  writeFile(folder / "small.json", R"({"vocab_size": 299})");
  expect("train --model small.json --data text.txt --tokenizer tokenizer.model", "299");
  writeFile(folder / "empty.txt", "");
  expect("train --model model.json --data empty.txt --tokenizer tokenizer.model", "empty");
  expect("generate --checkpoint none", "none");
  expect("inspect none.smet", "none.smet");
}

TEST_F(CliTest, CompilersErrorsAreForwarded) {
  compiler("echo 'error: block 16x16 does not divide layer x' >&2; exit 1");
  EXPECT_EQ(smet(train), 1);
  EXPECT_EQ(output, "smet: error: block 16x16 does not divide layer x\n");
  EXPECT_TRUE(fs::is_empty(folder / "cache/smet/programs")); // nothing is left behind
}

// A diagnostic that explains the error goes with it; what the user has seen as a warning and remarks do not.
TEST_F(CliTest, CompilersErrorsHaveTheirExplanations) {
  compiler("printf 'noise\\nerror: compilation failed\\ntopology: too many blocks\\n  of 1x1\\n"
           "remark: no\\nand more\\nerror: another\\n' >&2; exit 1");
  EXPECT_EQ(smet(train), 1);
  EXPECT_EQ(output, "smet: error: compilation failed\nsmet: error: topology: too many blocks\n"
                    "smet: error:   of 1x1\nsmet: error: another\n");
}

TEST_F(CliTest, CompilersWarningsAreForwarded) {
  compiler("echo 'warning: the first' >&2; echo 'remark: no' >&2; echo 'warning: the second' >&2; "
           "echo $(dirname $0)/text.txt");
  EXPECT_EQ(smet("compile --model model.json --out x.smet"), 0);
  EXPECT_EQ(output, "smet: warning: the first\nsmet: warning: the second\nx.smet\n");
}

TEST_F(CliTest, CompilerCrashIsAMessageAndKeepsTheRequest) {
  compiler("echo 'Stack dump: 0. secret' >&2; kill -SEGV $$");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(printed("crashed with signal 11") && printed("kept in")) << output;
  EXPECT_FALSE(printed("Stack dump"));
  size_t begin = output.find("kept in ") + 8;
  fs::path kept = output.substr(begin, output.find_last_not_of('\n') + 1 - begin);
  nlohmann::json request = nlohmann::json::parse(*readFile(kept / "request.json"));
  EXPECT_EQ(request["kind"], "train");
  EXPECT_EQ(request["model"]["hidden_size"], 64);
  EXPECT_NE(readFile(kept / "log")->find("Stack dump"), std::string::npos);
}

TEST_F(CliTest, OtherWaysForTheCompilerToFail) {
  compiler("exit 3");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(printed("ended with exit code 3")) << output;
  compiler("echo /nowhere/model.smet");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(printed("named no program file")) << output;
  compiler("echo 'smet-compile: error while loading shared libraries: libMLIR.so' >&2; exit 127");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(printed("cannot be started: smet-compile: error while loading shared libraries: libMLIR.so")) << output;
  fs::remove(folder / "smet-compile");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(printed("cannot be started")) << output;
}

TEST_F(CliTest, DoctorSaysWhatWorks) {
  compiler("test \"$*\" = --ptxas-version && echo 'Cuda compilation tools, release 12.6, V12.6.20'");
  FakeCard card("memory=1000000000");
  EXPECT_EQ(smet("doctor --target cuda"), 0) << output;
  for (const char *line : {"  processor       ", "  memory          good     ", "  threads         good     ",
                           "  dense products  ", "  compiler        good     ",
                           "  ptxas           good     of CUDA 12.6\n", "  NVIDIA driver   good     knows CUDA 12.4\n",
                           "  GPU 0           good     Stand-in 0, compute capability 9.0 (sm_90a), 1.00 GB of 1.00 GB "
                           "free\n",
                           "\n  smet train --target cpu   works here\n  smet train --target cuda  works here\n"})
    EXPECT_TRUE(printed(line)) << line << "\n" << output;
}

// Each problem has its line and what to do about it; the exit code tells of the target that was asked for.
TEST_F(CliTest, DoctorSaysWhatIsMissing) {
  compiler("echo none");
  FakeCard card("devices=0");
  EXPECT_EQ(smet("doctor"), 0) << output;
  EXPECT_EQ(smet("doctor --target cuda"), 1);
  EXPECT_TRUE(printed("  ptxas           missing  GPU kernels cannot be assembled\n"
                      "                           to do: install the CUDA toolkit, run scripts/setup, or name ptxas in "
                      "$SMET_PTXAS\n"
                      "  NVIDIA driver   missing  the NVIDIA driver (CUDA 12.4) finds no GPU\n"
                      "                           to do: look at `nvidia-smi` and $CUDA_VISIBLE_DEVICES, or take "
                      "--target cpu\n\n"
                      "  smet train --target cpu   works here\n"
                      "  smet train --target cuda  does not work here: see ptxas, NVIDIA driver\n"))
      << output;
  card.set("major=7,minor=5");
  EXPECT_EQ(smet("doctor --target cuda"), 1);
  EXPECT_TRUE(printed("  GPU 0           missing  Stand-in 0, compute capability 7.5\n"
                      "                           to do: kernels need 8.0 (A100) or newer\n"))
      << output;
  fs::remove(folder / "smet-compile");
  EXPECT_EQ(smet("doctor"), 1);
  EXPECT_TRUE(printed("  compiler        missing  the compiler ")) << output;
  EXPECT_TRUE(printed("to do: it belongs beside smet, or name it in $SMET_COMPILE\n")) << output;
  EXPECT_EQ(smet("doctor --target tpu"), 1);
}

TEST_F(CliTest, AProgramForAGPUSaysThatThereIsNone) {
  ManifestBuilder builder({"init", "train_step", "eval_step", "update_topology"});
  builder.manifest["target"] = "cuda";
  writeProgram(folder / "gpu.smet", builder.manifest,
               "#define E(n) int32_t smet_##n(smet_context *c, char *a) { return 0; }\n"
               "E(init) E(train_step) E(eval_step) E(update_topology)");
  compiler("echo $(dirname $0)/gpu.smet");
  FakeCard card("devices=0");
  EXPECT_EQ(smet(fmt::format("{}--target cuda", train)), 1);
  EXPECT_TRUE(printed("gpu.smet' cannot run here: the NVIDIA driver (CUDA 12.4) finds no GPU; look at `nvidia-smi` and "
                      "$CUDA_VISIBLE_DEVICES, or take --target cpu\n"))
      << output;
}

TEST_F(CliTest, TruncatedProgramIsRefused) {
  writeFile(folder / "cut.smet", "\x7f"
                                 "ELF and no more");
  compiler("echo $(dirname $0)/cut.smet");
  EXPECT_EQ(smet(train), 1);
  EXPECT_TRUE(printed("cut.smet")) << output;
}

TEST_F(CliTest, CompileCopiesTheProgramAndForwardsDumpIr) {
  writeFile(folder / "made", "program");
  compiler("echo \"$@\" > $(dirname $0)/arguments; echo $(dirname $0)/made");
  EXPECT_EQ(smet("compile --model model.json --out x.smet --dump-ir ir"), 0) << output;
  EXPECT_EQ(*readFile(folder / "x.smet"), "program");
  EXPECT_NE(readFile(folder / "arguments")->find("--dump-ir ir"), std::string::npos);
}

} // namespace
