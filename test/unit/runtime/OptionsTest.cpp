//===- OptionsTest.cpp - options, their text and TOML forms ---------------===//

#include "TestProgram.h"

#include "runtime/train/Options.h"

using namespace smet::rt;
using smet::test::TestFolder;

namespace {

Status readText(TrainOptions &options, const TestFolder &folder, std::string_view text) {
  EXPECT_TRUE(writeFileAtomically(folder / "c.toml", text));
  return readToml(options, folder / "c.toml");
}

TEST(Options, TomlSetsWhatItNames) {
  TestFolder folder;
  TrainOptions options;
  ASSERT_TRUE(readText(options, folder,
                       "density = 0.25\nblock = \"8x4\"\nsteps = 7\nmethod = \"static\"\nlr-schedule = \"wsd\"\n"
                       "model = \"m.json\"\nlr = 1\n"));
  EXPECT_EQ(options.density, 0.25);
  EXPECT_EQ(options.block, (BlockShape{8, 4}));
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.method, Method::Static);
  EXPECT_EQ(options.lrSchedule, Schedule::Wsd);
  EXPECT_EQ(options.model.text, (folder / "m.json").string()); // relative to the file
  EXPECT_EQ(options.lr, 1);
  EXPECT_EQ(options.seqLen, TrainOptions().seqLen);
}

TEST(Options, TomlErrorsNameFileLineAndKey) {
  TestFolder folder;
  TrainOptions options;
  auto expect = [&](std::string_view text, std::string_view part) {
    Status status = readText(options, folder, text);
    ASSERT_FALSE(status) << text;
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("c.toml"), std::string::npos);
  };
  expect("steps = 3\nbatchsize = 4\n", ":2: unknown key 'batchsize'; did you mean 'batch-size'?");
  expect("\n\nsteps = 1.5\n", ":3: steps: expected a whole number");
  expect("block = \"16\"\n", ":1: block: expected ROWSxCOLS");
  expect("method = \"rigl\"\n", "expected one of smet, static, dense");
  expect("density = \"0.1\"\n", "without quotes");
  expect("cpu = \"\"\n", "cpu: expected a name");
  expect("steps = \n", ":1: ");
  expect("[run]\nsteps = 1\n", "unknown key 'run'");
  EXPECT_FALSE(readToml(options, folder / "none.toml"));
}

TEST(Options, SavedConfigurationReadsBackEqual) {
  TestFolder folder;
  TrainOptions options, again;
  options.model.text = (folder / "a \"b\"\\c.json").string();
  options.out.text = (folder / "out").string();
  options.density = 1.0 / 3;
  options.lr = 1;
  options.eps = 1e-30;
  options.block = {1, 64};
  options.pruneSchedule = Schedule::Linear;
  options.cpu = "x86-64-v3";
  ASSERT_TRUE(readText(again, folder, writeToml(options)));
  EXPECT_EQ(again, options);
}

TEST(Options, ValidateNamesTheFlag) {
  auto rejects = [](auto change, std::string_view flag) {
    TrainOptions options;
    change(options);
    Status status = validate(options);
    ASSERT_FALSE(status) << flag;
    EXPECT_NE(status.error().message.find(flag), std::string::npos) << status.error().message;
  };
  EXPECT_TRUE(validate(TrainOptions()));
  rejects([](TrainOptions &o) { o.density = 0; }, "--density");
  rejects([](TrainOptions &o) { o.density = 1.01; }, "--density");
  rejects([](TrainOptions &o) { o.density = -1; }, "--density");
  rejects([](TrainOptions &o) { o.steps = 0; }, "--steps");
  rejects([](TrainOptions &o) { o.lr = 0; }, "--lr");
  rejects([](TrainOptions &o) { o.pruneRate = 1.5; }, "--prune-rate");
  rejects([](TrainOptions &o) { o.beta1 = 1; }, "--beta1");
  rejects([](TrainOptions &o) { o.batchSize = 0; }, "--batch-size");
  rejects([](TrainOptions &o) { o.stopAfter = o.steps + 1; }, "--stop-after");
  rejects([](TrainOptions &o) { o.updateUntil = o.steps + 1; }, "--update-until");
  rejects([](TrainOptions &o) { o.threads = 4097; }, "--threads");
  rejects([](TrainOptions &o) { o.eps = 1e-300; }, "--eps"); // zero as f32
  rejects([](TrainOptions &o) { o.out.text = ""; }, "--out");
}

TEST(Options, ShippedPresetIsTheIssuesRecipe) {
  TrainOptions o;
  ASSERT_TRUE(readToml(o, std::filesystem::path(SMET_SOURCE_DIR) / "configs/tiny.toml"));
  EXPECT_EQ(o.batchSize * o.seqLen, 2048);
  EXPECT_EQ(o.steps, 4000);
  EXPECT_EQ(o.lr, 2e-3);
  EXPECT_EQ(o.density, 0.1);
  EXPECT_TRUE(std::filesystem::exists(o.model.text));
}

TEST(Options, RequestHasTheCompilersKeys) {
  TrainOptions o;
  o.block = {1, 8};
  nlohmann::json request = compileRequest(o, {{"hidden_size", 64}}, "infer");
  EXPECT_EQ(request["kind"], "infer");
  EXPECT_EQ(request["block"], nlohmann::json({1, 8}));
  EXPECT_EQ(request["model"]["hidden_size"], 64);
  EXPECT_EQ(request["seq_len"], 256);
  EXPECT_EQ(request["cpu"], "host");
  o.cpu = "znver4";
  EXPECT_EQ(compileRequest(o, {}, "train")["cpu"], "znver4");
}

} // namespace
