//===- ProcessorTest.cpp - programs for smaller processors ----------------===//
//
// That their kernels compute what plain loops and the reference target do is in test/unit: kernels and programs run
// there for these processors too.
//
//===----------------------------------------------------------------------===//
#include "test/Integration/Tools.h"

#include "runtime/train/Metrics.h"

namespace smet::test {
namespace {

using ProcessorTest = Tools;

TEST_F(ProcessorTest, SmallerRegistersLearnTheSame) {
  auto losses = [&](const std::string &cpu) {
    EXPECT_EQ(train("--cpu " + cpu + " --out " + cpu), 0) << output;
    std::vector<double> all;
    auto records = rt::readMetrics(folder / cpu / "metrics.jsonl");
    EXPECT_TRUE(records) << messageOf(records);
    if (records)
      for (const nlohmann::json &record : *records)
        all.push_back(record["loss"]);
    return all;
  };
  std::vector<double> here = losses("host");
  ASSERT_EQ(here.size(), 40u);
  EXPECT_LT(here.back(), here.front() - 0.5);
  for (const char *cpu : {"x86-64-v3", "x86-64-v2"}) {
    std::vector<double> there = losses(cpu);
    ASSERT_EQ(there.size(), here.size());
    for (size_t i = 0; i < here.size(); ++i)
      EXPECT_NEAR(there[i], here[i], 1e-4 * here[i]) << cpu << ", step " << i + 1;
  }
}

TEST_F(ProcessorTest, IsWrittenDownAndGivenBack) {
  expect("smet compile --config small.toml --cpu x86-64-v3 --out v3.smet", 0, {});
  expect("smet-run info --program v3.smet", 0, {"train for cpu (x86-64-v3)"});
  writeFile(folder / "v2.toml", "cpu = \"x86-64-v2\"\n");
  expect("cat small.toml v2.toml > both.toml; smet compile --config both.toml --out v2.smet", 0, {});
  expect("smet-run info --program v2.smet", 0, {"train for cpu (x86-64-v2)"});
  expect("smet-run train --program v3.smet --data text.txt --tokenizer tokenizer.model --steps 2 --out r", 0, {});
  expect("cat r/config.toml", 0, {"cpu = \"x86-64-v3\"\n"});
}

TEST_F(ProcessorTest, ResumesOnAnotherOneWithAWarning) {
  ASSERT_EQ(train("--cpu x86-64-v3 --stop-after 10"), 0) << output;
  expect("smet train --resume --out run --stop-after 11", 0, {"resumed from run/step-00000010"});
  EXPECT_THAT(output, ::testing::Not(::testing::HasSubstr("warning")));
  expect("smet train --resume --out run --cpu x86-64-v2 --stop-after 12", 0,
         {"warning: the program was compiled for the processor x86-64-v3 until now and is for x86-64-v2"});
  // What reads a checkpoint is compiled for where it is read.
  expect("sed -i 's/cpu = .*/cpu = \"no-such\"/' run/config.toml; smet eval --checkpoint run", 0, {"perplexity"});
  expect("smet generate --checkpoint run --max-tokens 2 --prompt a", 0, {});
}

TEST_F(ProcessorTest, UnknownOnesAreRefused) {
  expect("smet train --config small.toml --cpu x86-64-v33", 1,
         {"smet: error: --cpu: unknown processor 'x86-64-v33'; did you mean 'x86-64-v3'? host, x86-64, "});
  expect("smet train --config small.toml --cpu \"\"", 1, {"--cpu: expected a name"});
}

// A newer processor: the program runs, or is refused with what is missing; it does not end by an illegal instruction.
TEST_F(ProcessorTest, NewerOnesRunOrAreRefused) {
  for (const char *cpu : {"diamondrapids", "novalake", "znver5"}) {
    int status = train(std::string("--steps 1 --cpu ") + cpu + " --out " + cpu);
    if (status != 0) {
      EXPECT_EQ(status, 1) << cpu << ": " << output;
      EXPECT_THAT(output, ::testing::HasSubstr("this machine lacks")) << cpu;
    }
  }
}

} // namespace
} // namespace smet::test
