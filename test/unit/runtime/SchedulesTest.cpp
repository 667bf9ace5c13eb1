//===- SchedulesTest.cpp - schedules against their formulas by hand -------===//

#include "runtime/train/Schedules.h"

#include <gtest/gtest.h>

using namespace smet::rt;

namespace {

TEST(Schedules, LearningRateWarmsUpLinearly) {
  LearningRate lr{Schedule::Cosine, 2e-3, 0.1, 0.1, 4000};
  EXPECT_DOUBLE_EQ(lr.at(1), 2e-3 / 400);
  EXPECT_DOUBLE_EQ(lr.at(100), 5e-4);
  EXPECT_DOUBLE_EQ(lr.at(400), 2e-3);
}

TEST(Schedules, CosineEndsAtItsFinalShare) {
  LearningRate lr{Schedule::Cosine, 2e-3, 0.1, 0.1, 4000};
  EXPECT_NEAR(lr.at(2200), 2e-3 * 0.55, 1e-12);                       // halfway: the mean of 1 and 0.1
  EXPECT_NEAR(lr.at(1300), 2e-3 * (0.1 + 0.9 * 0.8535533906), 1e-12); // a quarter: (1 + cos 45 deg) / 2
  EXPECT_NEAR(lr.at(4000), 2e-4, 1e-15);
}

TEST(Schedules, OtherShapes) {
  LearningRate linear{Schedule::Linear, 1, 0.1, 0.1, 100};
  EXPECT_NEAR(linear.at(55), 0.55, 1e-12);
  EXPECT_NEAR(linear.at(100), 0.1, 1e-12);
  LearningRate constant{Schedule::Constant, 1, 0, 0.1, 100};
  EXPECT_EQ(constant.at(1), 1);
  EXPECT_EQ(constant.at(100), 1);
  LearningRate wsd{Schedule::Wsd, 1, 0, 0, 100};
  EXPECT_EQ(wsd.at(80), 1);
  EXPECT_NEAR(wsd.at(90), 0.5, 1e-12);
  EXPECT_NEAR(wsd.at(100), 0, 1e-12);
}

TEST(Schedules, NoWarmupStartsAtThePeak) {
  LearningRate lr{Schedule::Constant, 3, 0, 0.1, 10};
  EXPECT_EQ(lr.at(1), 3);
  LearningRate all{Schedule::Cosine, 3, 1, 0.1, 10};
  EXPECT_DOUBLE_EQ(all.at(10), 3);
}

TEST(Schedules, PruneRateFallsFromFirstToLast) {
  PruneRate r{Schedule::Cosine, 0.2, 0.005, 1000};
  EXPECT_NEAR(r.at(0), 0.2, 1e-15);
  EXPECT_NEAR(r.at(500), 0.1025, 1e-12);
  EXPECT_NEAR(r.at(250), 0.005 + 0.195 * 0.8535533906, 1e-9);
  EXPECT_NEAR(r.at(1000), 0.005, 1e-12);
  EXPECT_EQ((PruneRate{Schedule::Constant, 0.3, 0, 10}.at(9)), 0.3);
}

} // namespace
