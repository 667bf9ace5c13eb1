//===- OracleTest.cpp - the plain-loop model against finite differences ---===//
#include "PlainLlama.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace smet::test;

/// Every gradient entry of a small model against central differences; the masked entries of every third layer are zero.
static void checkAgainstDifferences(bool tied, bool masked) {
  PlainLlama model{.vocab = 11, .hidden = 8, .ffn = 6, .layers = 2, .heads = 4, .kvHeads = 2, .tied = tied};
  std::mt19937 rng(7);
  std::normal_distribution<double> normal(0, 0.5);
  for (const auto &[name, shape] : model.shapes()) {
    Numbers &values = model.weights[name];
    values.resize(shape.size() == 1 ? shape[0] : shape[0] * shape[1]);
    for (double &value : values)
      value = shape.size() == 1 ? 1 + normal(rng) : masked && rng() % 3 == 0 ? 0 : normal(rng);
  }
  const int seqLen = 5;
  std::vector<int> tokens, targets;
  for (int t = 0; t < 2 * seqLen; ++t) {
    tokens.push_back(rng() % 4); // few ids, so that some repeat
    targets.push_back(t % 4 == 3 ? -1 : int(rng() % model.vocab));
  }
  std::map<std::string, Numbers> gradients;
  model.loss(tokens, targets, seqLen, &gradients);
  ASSERT_EQ(gradients.size(), model.shapes().size());
  for (auto &[name, values] : model.weights)
    for (size_t i = 0; i < values.size(); ++i) {
      const double h = 1e-5, old = values[i];
      values[i] = old + h;
      double above = model.loss(tokens, targets, seqLen);
      values[i] = old - h;
      double below = model.loss(tokens, targets, seqLen);
      values[i] = old;
      EXPECT_NEAR(gradients[name][i], (above - below) / (2 * h), 1e-7) << name << " " << i;
    }
}

TEST(PlainLlama, GradientsAreTheDifferences) { checkAgainstDifferences(/*tied=*/false, /*masked=*/false); }
TEST(PlainLlama, TiedGradientsAreTheDifferences) { checkAgainstDifferences(/*tied=*/true, /*masked=*/false); }
TEST(PlainLlama, MaskedGradientsAreTheDifferences) { checkAgainstDifferences(/*tied=*/false, /*masked=*/true); }

// With all matrices zero every logit is zero and the loss is log(vocabulary).
TEST(PlainLlama, LossOfEqualLogits) {
  PlainLlama model{.vocab = 11, .hidden = 8, .ffn = 6, .layers = 1, .heads = 2, .kvHeads = 1};
  for (const auto &[name, shape] : model.shapes())
    model.weights[name].assign(shape.size() == 1 ? shape[0] : shape[0] * shape[1], 0);
  EXPECT_NEAR(model.loss({1, 2, 3}, {2, 3, -1}, 3), std::log(11), 1e-12);
}
