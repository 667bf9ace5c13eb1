//===- SamplingTest.cpp - sampling against probabilities by hand ----------===//

#include "runtime/train/Sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace smet::rt;

namespace {

// Probabilities 0.5, 0.25, 0.125, 0.125 of tokens 2, 0, 1, 3.
const float kLogits[] = {std::log(2.f), 0.f, std::log(4.f), 0.f};

std::map<int32_t, double> frequencies(const SamplingOptions &options) {
  std::map<int32_t, double> shares;
  for (int i = 0; i < 10000; ++i)
    shares[sampleToken(kLogits, options, (i + 0.5) / 10000)] += 1e-4;
  return shares;
}

TEST(Sampling, FollowsTheSoftmax) {
  auto shares = frequencies({1.0, 0, 1.0});
  EXPECT_NEAR(shares[2], 0.5, 1e-3);
  EXPECT_NEAR(shares[0], 0.25, 1e-3);
  EXPECT_NEAR(shares[1], 0.125, 1e-3);
  EXPECT_NEAR(shares[3], 0.125, 1e-3);
}

TEST(Sampling, TemperatureSquaresTheOdds) {
  auto shares = frequencies({0.5, 0, 1.0}); // weights 16 4 1 1
  EXPECT_NEAR(shares[2], 16.0 / 22, 1e-3);
  EXPECT_NEAR(shares[3], 1.0 / 22, 1e-3);
}

TEST(Sampling, ZeroTemperatureIsGreedyAndTiesGoToTheLowerId) {
  EXPECT_EQ(sampleToken(kLogits, {0.0, 0, 1.0}, 0.999), 2);
  const float flat[] = {1, 3, 3};
  EXPECT_EQ(sampleToken(flat, {0.0, 0, 1.0}, 0.7), 1);
}

TEST(Sampling, TopKKeepsTheKMostLikely) {
  auto shares = frequencies({1.0, 2, 1.0});
  EXPECT_EQ(shares.size(), 2u);
  EXPECT_NEAR(shares[2], 2.0 / 3, 1e-3);
  EXPECT_EQ(frequencies({1.0, 100, 1.0}).size(), 4u);
}

TEST(Sampling, TopPKeepsTheSmallestSetThatReachesIt) {
  EXPECT_EQ(frequencies({1.0, 0, 0.4}).size(), 1u);
  auto shares = frequencies({1.0, 0, 0.7});
  EXPECT_EQ(shares.size(), 2u);
  EXPECT_NEAR(shares[0], 1.0 / 3, 1e-3);
}

} // namespace
