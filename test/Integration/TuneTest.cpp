//===- TuneTest.cpp - kernels chosen by measuring -------------------------===//
//
// That every candidate computes what plain loops do is in test/unit/kernels.
//
//===----------------------------------------------------------------------===//
#include "test/Integration/Tools.h"

#include "runtime/program/Processor.h"
#include "runtime/train/Metrics.h"

#include <regex>

namespace fs = std::filesystem;

namespace smet::test {
namespace {

class TuneTest : public Tools {
protected:
  TuneTest() { useOwnCache(); }

  struct Counts {
    int products = -1, measured = -1, changed = -1;
  };

  /// Trains a few steps with --tune and reads what was said about it.
  Counts tune(const std::string &out, const std::string &flags = "") {
    EXPECT_EQ(train("--tune --steps 5 --out " + out + " " + flags), 0) << output;
    std::smatch match;
    if (!std::regex_search(output, match,
                           std::regex("tuned (\\d+) sparse products: (\\d+) measured now, (\\d+) not as the cost model "
                                      "has them, [0-9.]+ s\n")))
      return {};
    return {std::stoi(match[1]), std::stoi(match[2]), std::stoi(match[3])};
  }

  std::vector<fs::path> measurements() {
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(folder / "cache/smet/programs/tuning"))
      files.push_back(entry.path());
    return files;
  }

  /// Changes a file so that its last candidate took so many seconds, and the others 0.001.
  void setLast(const fs::path &file, double last) {
    auto text = rt::readFile(file);
    ASSERT_TRUE(text) << messageOf(text);
    auto json = nlohmann::json::parse(*text);
    for (nlohmann::json &candidate : json["candidates"])
      for (nlohmann::json &seconds : candidate["seconds"])
        seconds = &candidate == &json["candidates"].back() ? last : 1e-3;
    writeFile(file, json.dump());
  }

  std::vector<double> losses(const std::string &run) {
    std::vector<double> all;
    auto records = rt::readMetrics(folder / run / "metrics.jsonl");
    EXPECT_TRUE(records) << messageOf(records);
    if (records)
      for (const nlohmann::json &record : *records)
        all.push_back(record["loss"]);
    return all;
  }
};

// q, k, v and o are 64x64, gate and up 96x64, down 64x96: three shapes, each forward, backward and weight gradient.
TEST_F(TuneTest, MeasuresOnce) {
  Counts first = tune("first");
  EXPECT_EQ(first.products, 9);
  EXPECT_EQ(first.measured, 9);
  EXPECT_EQ(measurements().size(), 9u);
  Counts second = tune("second");
  EXPECT_EQ(second.products, 9);
  EXPECT_EQ(second.measured, 0);
  EXPECT_EQ(second.changed, first.changed);
  EXPECT_TRUE(tensors("first", 5) == tensors("second", 5));
  EXPECT_EQ(tune("other", "--block 8x8").measured, 9);
  EXPECT_EQ(tune("third", "--seed 7 --lr 0.1").measured, 0);
}

TEST_F(TuneTest, TakesTheFastestAndLearnsTheSame) {
  EXPECT_EQ(tune("measured").measured, 9);
  for (const fs::path &file : measurements())
    setLast(file, 0.9e-3);
  EXPECT_EQ(tune("fastest").changed, 9);
  for (const fs::path &file : measurements())
    setLast(file, 0.98e-3);
  EXPECT_EQ(tune("model").changed, 0); // too close
  EXPECT_EQ(train("--steps 5 --out untuned"), 0) << output;
  EXPECT_TRUE(tensors("model", 5) == tensors("untuned", 5)); // the model's choices, whoever makes them
  std::vector<double> chosen = losses("fastest"), untuned = losses("untuned");
  ASSERT_EQ(chosen.size(), untuned.size());
  for (size_t i = 0; i < chosen.size(); ++i)
    EXPECT_NEAR(chosen[i], untuned[i], 1e-4 * untuned[i]) << "step " << i + 1;
}

TEST_F(TuneTest, DamagedMeasurementsAreMadeAgain) {
  tune("first");
  std::vector<fs::path> files = measurements();
  ASSERT_EQ(files.size(), 9u);
  std::string whole = rt::readFile(files[0]).value_or("");
  writeFile(files[0], whole.substr(0, whole.size() / 2));
  writeFile(files[1], "[]");
  writeFile(files[2], std::regex_replace(whole, std::regex("\"seconds\": *\\[[^\\]]*\\]"), "\"seconds\": [0]"));
  EXPECT_EQ(tune("second").measured, 3);
  EXPECT_THAT(output,
              ::testing::HasSubstr("smet: warning: '" + files[1].string() + "' is damaged; it is measured again"));
  EXPECT_EQ(tune("third").measured, 0);
}

// A file in the place of the folder: one warning, not one a product.
TEST_F(TuneTest, WarnsWhereMeasurementsCannotBeKept) {
  fs::create_directories(folder / "cache/smet/programs");
  writeFile(folder / "cache/smet/programs/tuning", "");
  EXPECT_EQ(tune("run").measured, 9);
  size_t warning = output.find("smet: warning: measurements cannot be kept in '");
  ASSERT_NE(warning, std::string::npos) << output;
  EXPECT_EQ(output.find("warning: ", warning + 7), std::string::npos) << output;
}

TEST_F(TuneTest, IsRefusedWhereItCannotBe) {
  expect("smet train --config small.toml --method dense --tune", 1, {"--tune means nothing with --method dense"});
  expect("smet train --config small.toml --target reference --tune", 1, {"--tune chooses kernels of --target cpu"});
  if (!rt::machineHas("xop"))
    expect("smet train --config small.toml --cpu bdver4 --tune", 1,
           {"--tune: ", "cannot run here: compiled for the processor bdver4: this machine lacks "});
  EXPECT_THAT(output, ::testing::Not(::testing::HasSubstr("kept in")));
}

// What reads a checkpoint is not tuned for it; a resumed run is, as it was.
TEST_F(TuneTest, BelongsToTheRun) {
  tune("run", "--stop-after 3");
  expect("smet train --resume --out run", 0, {"tuned 9 sparse products: 0 measured now"});
  EXPECT_THAT(output, ::testing::Not(::testing::HasSubstr("other kernels")));
  expect("smet eval --checkpoint run", 0, {"perplexity"});
  EXPECT_THAT(output, ::testing::Not(::testing::HasSubstr("tuned")));
}

// As when they were lost and came out otherwise.
TEST_F(TuneTest, WarnsWhenAResumeTakesOtherKernels) {
  tune("run", "--stop-after 3");
  for (const fs::path &file : measurements())
    setLast(file, 0.5e-3);
  expect("smet train --resume --out run", 0, {"warning: sparse products take other kernels than until now"});
}

} // namespace
} // namespace smet::test
