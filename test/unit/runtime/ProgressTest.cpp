//===- ProgressTest.cpp - lines, metrics and the curve of a run -----------===//

#include "TestProgram.h"

#include "runtime/train/Curve.h"
#include "runtime/train/Metrics.h"
#include "runtime/train/Progress.h"

#include <cmath>

using namespace smet::rt;
using smet::test::TestFolder;

namespace {

TEST(Progress, LineHasTheFieldsOfTheIssue) {
  StepReport r{120, 4000, std::log(50.0), 6e-4, 10240, 200, 212000000, 785};
  EXPECT_EQ(progressLine(r), "step 120/4000  loss 3.9120  ppl 50.00  lr 6.00e-04  10.2k tok/s  200.0 ms/step  212 MB  "
                             "ETA 13:05");
  nlohmann::json json = toJson(r);
  for (const char *key :
       {"step", "loss", "perplexity", "lr", "tokens_per_second", "ms_per_step", "memory_bytes", "eta_seconds"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_NEAR(json["perplexity"].get<double>(), 50, 1e-9);
}

TEST(Progress, NumbersForPeople) {
  EXPECT_EQ(durationText(3723), "1:02:03");
  EXPECT_EQ(durationText(59.6), "1:00");
  EXPECT_EQ(bytesText(999), "999 B");
  EXPECT_EQ(bytesText(12345678), "12.3 MB");
  EXPECT_EQ(countText(58073600), "58.1M");
  EXPECT_EQ(countText(999960), "1.00M");
}

TEST(Progress, PlainLinesEveryNSteps) {
  TestFolder folder;
  std::FILE *file = std::fopen((folder / "log").c_str(), "w");
  {
    Progress progress(file, 10);
    for (int64_t step = 1; step <= 25; ++step)
      progress.step({step, 25});
  }
  std::fclose(file);
  std::string text = *readFile(folder / "log");
  EXPECT_EQ(std::ranges::count(text, '\n'), 4); // 1, 10, 20, 25
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, TimerIsTheMeanAtFirst) {
  StepTimer timer(100);
  timer.add(1);
  timer.add(3);
  EXPECT_DOUBLE_EQ(timer.secondsPerStep(), 2);
  EXPECT_DOUBLE_EQ(timer.tokensPerSecond(), 50);
}

TEST(Metrics, ResumingRemovesLaterSteps) {
  TestFolder folder;
  auto file = folder / "metrics.jsonl";
  {
    auto log = MetricsLog::open(file, 0);
    ASSERT_TRUE(log);
    for (int step = 1; step <= 5; ++step)
      ASSERT_TRUE(log->append({{"step", step}, {"loss", 10.0 - step}}));
  }
  std::FILE *cut = std::fopen(file.c_str(), "a");
  std::fputs("{\"step\": 6, \"lo", cut); // as after a power cut
  std::fclose(cut);
  auto log = MetricsLog::open(file, 3);
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->append({{"step", 4}, {"loss", 0.5}}));
  auto records = readMetrics(file);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 4u);
  EXPECT_EQ(records->back()["loss"], 0.5);
}

TEST(Metrics, UnwritableIsAnError) {
  auto log = MetricsLog::open("/nonexistent/metrics.jsonl", 0);
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("/nonexistent/metrics.jsonl"), std::string::npos);
  auto full = MetricsLog::open("/dev/full", 0);
  if (full)
    EXPECT_FALSE(full->append({{"step", 1}}));
}

TEST(Metrics, CurveAveragesBins) {
  std::vector<nlohmann::json> records;
  for (int step = 1; step <= 4; ++step)
    records.push_back({{"step", step}, {"loss", step * 1.0}});
  auto points = lossCurve(records, 2);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_DOUBLE_EQ(points[0].x, 1.5);
  EXPECT_DOUBLE_EQ(points[1].y, 3.5);
}

TEST(Curve, AsciiDiagonal) {
  const CurvePoint points[] = {{0, 3}, {1, 2}, {2, 1}, {3, 0}};
  EXPECT_EQ(drawCurve(points, {4, 4, false}), "    3.000 |*\n"
                                              "          | *\n"
                                              "          |  *\n"
                                              "    0.000 |   *\n"
                                              "          +----\n"
                                              "           0  3");
}

TEST(Curve, BrailleDots) {
  const CurvePoint one[] = {{0, 0}, {1, 1}};
  std::string text = drawCurve(one, {1, 1, true}); // lower left (0x40) and upper right (0x08)
  EXPECT_NE(text.find("\u2848"), std::string::npos) << text;
  const CurvePoint bad[] = {{0, std::nan("")}};
  EXPECT_EQ(drawCurve(bad, {}), "");
}

} // namespace
