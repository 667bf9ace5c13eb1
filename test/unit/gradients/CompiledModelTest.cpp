//===- CompiledModelTest.cpp - a whole model against plain loops ----------===//
//
// A compiled tiny LLaMA, in f32 through all passes and kernels, and PlainLlama in double: gradients agree to 1e-4 of
// each parameter's largest gradient, logits of prefill and decode to 1e-4 of the largest logit. Dense and masked, tied
// and untied, with ignored and padded tokens.
//
//===----------------------------------------------------------------------===//
#include "PlainLlama.h"

#include "test/unit/kernels/KernelHarness.h"
#include "test/unit/support/LlamaText.h"

#include <fmt/format.h>

using namespace smet;
using namespace smet::test;

namespace {

struct Case {
  const char *name;
  bool tied, dense;
  int blockRows, blockCols;
  double density;
};

class CompiledModel : public testing::TestWithParam<Case> {
protected:
  static constexpr int batch = 2, seqLen = 70, paddedSeqLen = 128, vocab = 40;

  LlamaSpec spec(bool infer = false) const {
    const Case &c = GetParam();
    LlamaSpec spec;
    spec.infer = infer;
    spec.config =
        fmt::format(R"({{"vocab_size": {}, "hidden_size": {}, "intermediate_size": {}, "num_hidden_layers": {},
                         "num_attention_heads": {}, "num_key_value_heads": {}, "tie_word_embeddings": {},
                         "rms_norm_eps": {}, "rope_theta": {}}})",
                    plain.vocab, plain.hidden, plain.ffn, plain.layers, plain.heads, plain.kvHeads, plain.tied,
                    plain.eps, plain.theta);
    spec.dense = c.dense;
    spec.density = c.density;
    spec.blockRows = c.blockRows;
    spec.blockCols = c.blockCols;
    spec.batch = batch;
    spec.seqLen = seqLen;
    return spec;
  }

  /// Draws a topology of exactly nnz blocks for every sparse layer.
  void drawTopologies(Kernel &kernel) {
    for (const rt::SparseLayer &layer : kernel.manifest().layers) {
      std::vector<bool> mask(layer.blocks());
      std::fill_n(mask.begin(), layer.nnz, true);
      std::shuffle(mask.begin(), mask.end(), rng);
      Topology topology = Topology::ofMask(layer.rows, layer.cols, layer.blockRows, layer.blockCols, mask);
      topology.fill(kernel, layer.name + ".topology");
      topologies.emplace(layer.name, topology);
    }
  }

  /// Where entry e of a parameter's array lies in its dense matrix.
  size_t dense(const std::string &name, size_t e) const {
    auto found = topologies.find(name);
    if (found == topologies.end())
      return e;
    const Topology &t = found->second;
    int64_t size = t.blockRows * t.blockCols, inside = e % size;
    auto [i, j] = t.block(e / size);
    return (i * t.blockRows + inside / t.blockCols) * t.cols + j * t.blockCols + inside % t.blockCols;
  }

  void drawWeights(Kernel &kernel) {
    for (const auto &[name, shape] : plain.shapes()) {
      size_t count = kernel.get<float>(name).size();
      std::vector<float> values = randomVector<float>(count, rng, shape.size() == 1 ? 0.3 : 0.15);
      if (shape.size() == 1)
        for (float &value : values)
          value += 1;
      Numbers &matrix = plain.weights[name];
      matrix.assign(shape.size() == 1 ? shape[0] : size_t(shape[0]) * shape[1], 0);
      for (size_t e = 0; e < count; ++e)
        matrix[dense(name, e)] = values[e];
      kernel.set(name, values);
    }
  }

  void drawTokens(Kernel &kernel) {
    int valid = 0;
    for (int t = 0; t < batch * paddedSeqLen; ++t) {
      bool padding = t % paddedSeqLen >= seqLen, ignored = padding || t % 7 == 3;
      tokens.push_back(padding ? 0 : rng() % vocab);
      targets.push_back(ignored ? -1 : rng() % vocab);
      valid += !ignored;
    }
    kernel.set("tokens", std::vector<int32_t>(tokens.begin(), tokens.end()));
    kernel.set("targets", std::vector<int32_t>(targets.begin(), targets.end()));
    kernel.set("num_valid", std::vector<int32_t>{valid});
  }

  PlainLlama plain{
      .vocab = vocab, .hidden = 64, .ffn = 96, .layers = 2, .heads = 4, .kvHeads = 2, .tied = GetParam().tied};
  std::mt19937 rng{11};
  std::map<std::string, Topology> topologies;
  std::vector<int> tokens, targets;
};

TEST_P(CompiledModel, GradientsAreThoseOfPlainLoops) {
  Kernel kernel(llamaText(spec()), Target::CPU, /*threads=*/2);
  ASSERT_TRUE(kernel.valid());
  EXPECT_EQ(kernel.manifest().layers.size(), GetParam().dense ? 0u : 14u);
  drawTopologies(kernel);
  drawWeights(kernel);
  drawTokens(kernel);
  ASSERT_TRUE(kernel.run("gradients"));

  std::map<std::string, Numbers> expected;
  double loss = plain.loss(tokens, targets, paddedSeqLen, &expected);
  EXPECT_NEAR(kernel.get<float>("loss")[0], loss, 1e-5 * loss);
  for (const auto &[name, matrix] : expected) {
    std::vector<float> gradient = kernel.get<float>(name + ".grad");
    Numbers active(gradient.size());
    for (size_t e = 0; e < active.size(); ++e)
      active[e] = matrix[dense(name, e)];
    EXPECT_LE(relativeError(gradient, active), 1e-4) << name;
  }

  ASSERT_TRUE(kernel.run("eval_step"));
  EXPECT_NEAR(kernel.get<float>("loss")[0], loss, 1e-5 * loss);
}

TEST_P(CompiledModel, LogitsAreThoseOfPlainLoops) {
  Kernel kernel(llamaText(spec(/*infer=*/true)), Target::CPU);
  ASSERT_TRUE(kernel.valid());
  drawTopologies(kernel);
  drawWeights(kernel);
  const int prompt = 37; // neither at the start nor at the end of a tile
  for (int t = 0; t < seqLen; ++t)
    tokens.push_back(rng() % vocab);
  Numbers expected = plain.logits(tokens);
  auto expectLogits = [&](int position) {
    auto start = expected.begin() + position * vocab;
    EXPECT_LE(relativeError(kernel.get<float>("logits"), Numbers(start, start + vocab)), 1e-4) << position;
  };

  std::vector<int32_t> padded(paddedSeqLen);
  std::copy_n(tokens.begin(), prompt, padded.begin());
  kernel.set("tokens", padded);
  kernel.set("position", std::vector<int32_t>{prompt - 1});
  ASSERT_TRUE(kernel.run("prefill"));
  expectLogits(prompt - 1);
  for (int t = prompt; t < seqLen; ++t) { // crosses into the second tile
    kernel.set("token", std::vector<int32_t>{tokens[t]});
    kernel.set("position", std::vector<int32_t>{t});
    ASSERT_TRUE(kernel.run("decode"));
    expectLogits(t);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledModel,
                         testing::Values(Case{"Dense", false, true, 0, 0, 1}, Case{"DenseTied", true, true, 0, 0, 1},
                                         Case{"Block16x16", false, false, 16, 16, 0.4},
                                         Case{"Block8x4Tied", true, false, 8, 4, 0.3},
                                         Case{"Unstructured", false, false, 1, 1, 0.2},
                                         Case{"Runs1x16", false, false, 1, 16, 0.25}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
