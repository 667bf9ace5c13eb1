//===- LlamaConfigTest.cpp - config.json and what is wrong with it --------===//
#include "smet/Models/Llama.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace smet;
using testing::HasSubstr;

static std::string parseError(llvm::StringRef text) {
  llvm::json::Value json = llvm::cantFail(llvm::json::parse(text));
  auto config = LlamaConfig::parse(*json.getAsObject());
  return config ? "" : llvm::toString(config.takeError());
}

static LlamaConfig parse(llvm::StringRef text) {
  llvm::json::Value json = llvm::cantFail(llvm::json::parse(text));
  return llvm::cantFail(LlamaConfig::parse(*json.getAsObject()));
}

static std::string requestError(const ModelRequest &request) {
  auto parameters = llamaParameters(request);
  return parameters ? "" : llvm::toString(parameters.takeError());
}

static ModelRequest tiny() {
  ModelRequest request;
  request.model = parse(R"({"vocab_size": 1024, "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 3,
                            "num_attention_heads": 4})");
  return request;
}

TEST(LlamaConfig, DefaultsAreThoseOfHuggingFace) {
  LlamaConfig config = parse(R"({"hidden_size": 4096})");
  EXPECT_EQ(config.vocabSize, 32000);
  EXPECT_EQ(config.hiddenSize, 4096);
  EXPECT_EQ(config.intermediateSize, 11008);
  EXPECT_EQ(config.numLayers, 32);
  EXPECT_EQ(config.numHeads, 32);
  EXPECT_EQ(config.numKVHeads, 32);
  EXPECT_EQ(config.maxPositions, 2048);
  EXPECT_EQ(config.rmsNormEps, 1e-6);
  EXPECT_EQ(config.ropeTheta, 10000);
  EXPECT_EQ(config.initializerRange, 0.02);
  EXPECT_FALSE(config.tieWordEmbeddings);
}

// The file of LLaMA 60m as the GaLore and SMET experiments ship it.
TEST(LlamaConfig, ReadsTheOlderForm) {
  LlamaConfig config = parse(R"({
    "architectures": ["LLaMAForCausalLM"], "bos_token_id": 0, "eos_token_id": 1, "hidden_act": "silu",
    "hidden_size": 512, "intermediate_size": 1376, "initializer_range": 0.02, "max_sequence_length": 1024,
    "model_type": "llama", "num_attention_heads": 8, "num_hidden_layers": 8, "pad_token_id": -1,
    "rms_norm_eps": 1e-06, "transformers_version": "4.28.1", "use_cache": true, "vocab_size": 32000})");
  EXPECT_EQ(config.hiddenSize, 512);
  EXPECT_EQ(config.maxPositions, 1024);
  EXPECT_EQ(config.numKVHeads, 8);
  EXPECT_EQ(config.headDim(), 64);
}

TEST(LlamaConfig, ReadsTheNewerForm) {
  LlamaConfig config = parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "head_dim": 64,
    "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "mlp_bias": false, "pretraining_tp": 1,
    "max_position_embeddings": 4096, "rope_scaling": null, "rope_parameters": {"rope_theta": 500000.0,
    "rope_type": "default"}, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "_name_or_path": "x"})");
  EXPECT_EQ(config.numKVHeads, 2);
  EXPECT_EQ(config.maxPositions, 4096);
  EXPECT_EQ(config.ropeTheta, 500000);
  EXPECT_TRUE(config.tieWordEmbeddings);
}

TEST(LlamaConfig, WritesWhatItReads) {
  LlamaConfig config = parse(R"({"vocab_size": 7, "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 3,
      "num_attention_heads": 6, "num_key_value_heads": 3, "max_position_embeddings": 99, "rms_norm_eps": 1e-5,
      "rope_theta": 123.5, "initializer_range": 0.25, "tie_word_embeddings": true})");
  LlamaConfig again = llvm::cantFail(LlamaConfig::parse(config.toJSON()));
  EXPECT_EQ(again.toJSON(), config.toJSON());
  EXPECT_EQ(again.numKVHeads, 3);
  EXPECT_EQ(again.ropeTheta, 123.5);
}

TEST(LlamaConfig, UnsupportedMathsNamesKeyAndValue) {
  const std::pair<const char *, const char *> cases[] = {
      {R"({"rope_scaling": {"type": "linear", "factor": 2}})", "rope_scaling = {\"factor\":2,\"type\":\"linear\"}"},
      {R"({"attention_bias": true})", "attention_bias = true is not supported (only false)"},
      {R"({"mlp_bias": true})", "mlp_bias = true is not supported (only false)"},
      {R"({"hidden_act": "gelu"})", "hidden_act = \"gelu\" is not supported (only \"silu\")"},
      {R"({"head_dim": 64})", "head_dim = 64 is not supported (only hidden_size / num_attention_heads = 128)"},
      {R"({"pretraining_tp": 2})", "pretraining_tp = 2 is not supported (only 1)"},
      {R"({"attention_dropout": 0.1})", "attention_dropout = 0.1"},
      {R"({"model_type": "mistral"})", "model_type = \"mistral\" is not supported (only \"llama\")"},
      {R"({"architectures": ["GPT2LMHeadModel"]})", "architectures = [\"GPT2LMHeadModel\"]"},
      {R"({"rope_parameters": {"rope_type": "yarn"}})", "rope_parameters = {\"rope_type\":\"yarn\"}"},
      {R"({"max_position_embeddings": 10, "max_sequence_length": 20})", "contradict each other"},
  };
  for (auto [text, message] : cases)
    EXPECT_THAT(parseError(text), HasSubstr(message)) << text;
}

TEST(LlamaConfig, WithoutAWidthIsNoModel) {
  EXPECT_THAT(parseError("{}"), HasSubstr("hidden_size is missing"));
  EXPECT_THAT(parseError(R"({"hidden_size": null})"), HasSubstr("hidden_size is missing"));
}

TEST(LlamaConfig, UnknownKeysAreListedTogether) {
  EXPECT_THAT(parseError(R"({"sliding_window": 128, "qk_norm": true, "use_cache": false, "logit_scale": null})"),
              HasSubstr("unknown keys that may change the model: qk_norm, sliding_window"));
}

TEST(LlamaConfig, WrongTypesAreNamed) {
  EXPECT_THAT(parseError(R"({"vocab_size": "many"})"), HasSubstr("vocab_size must be an integer, got \"many\""));
  EXPECT_THAT(parseError(R"({"hidden_size": 2.5})"), HasSubstr("hidden_size must be an integer, got 2.5"));
  EXPECT_THAT(parseError(R"({"rms_norm_eps": []})"), HasSubstr("rms_norm_eps must be a number, got []"));
  EXPECT_THAT(parseError(R"({"tie_word_embeddings": 1})"), HasSubstr("tie_word_embeddings must be true or false"));
}

TEST(LlamaConfig, EverythingWrongIsReportedAtOnce) {
  std::string error = parseError(R"({"hidden_act": "relu", "strange": 1, "num_attention_heads": 24})");
  EXPECT_THAT(error, HasSubstr("hidden_act"));
  EXPECT_THAT(error, HasSubstr("strange"));
  EXPECT_THAT(error, HasSubstr("num_attention_heads = 24 does not divide hidden_size = 4096"));
}

TEST(LlamaConfig, SizesMustFit) {
  const std::pair<const char *, const char *> cases[] = {
      {R"({"vocab_size": 0})", "vocab_size = 0 must be positive"},
      {R"({"num_hidden_layers": -1})", "num_hidden_layers = -1 must be positive"},
      {R"({"num_attention_heads": 0})", "num_attention_heads = 0 must be positive"},
      {R"({"num_attention_heads": 6, "hidden_size": 64})", "num_attention_heads = 6 does not divide hidden_size = 64"},
      {R"({"num_key_value_heads": 3})", "num_key_value_heads = 3 does not divide num_attention_heads = 32"},
      {R"({"num_attention_heads": 2, "hidden_size": 6})", "head size 3"},
      {R"({"rms_norm_eps": 0})", "rms_norm_eps = 0 must be positive"},
      {R"({"rope_theta": -1.5})", "rope_theta = -1.5 must be positive"},
  };
  for (auto [text, message] : cases)
    EXPECT_THAT(parseError(text), HasSubstr(message)) << text;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

TEST(LlamaParameters, CountsBlocks) {
  ModelRequest request = tiny();
  auto parameters = llvm::cantFail(llamaParameters(request));
  ASSERT_EQ(parameters.size(), 2u + 3 * 9 + 1);
  const LlamaParameter &gate = parameters[7];
  EXPECT_EQ(gate.name, "model.layers.0.mlp.gate_proj.weight");
  EXPECT_EQ(gate.shape, (std::vector<int64_t>{688, 256}));
  EXPECT_EQ(gate.nnz, 69);          // 0.1 * 43 * 16 = 68.8
  EXPECT_EQ(parameters[2].nnz, 26); // 0.1 * 16 * 16 = 25.6
  EXPECT_FALSE(parameters[0].sparse);
  EXPECT_FALSE(parameters[1].sparse);
  EXPECT_EQ(parameters.back().name, "lm_head.weight");

  request.method = Method::Dense;
  auto dense = llvm::cantFail(llamaParameters(request));
  ASSERT_EQ(dense.size(), parameters.size());
  for (size_t i = 0; i < dense.size(); ++i) {
    EXPECT_EQ(dense[i].name, parameters[i].name); // the same layer ids
    EXPECT_FALSE(dense[i].sparse);
  }
}

TEST(LlamaParameters, TiedHeadIsNoParameter) {
  ModelRequest request = tiny();
  request.model.tieWordEmbeddings = true;
  EXPECT_EQ(llvm::cantFail(llamaParameters(request)).back().name, "model.norm.weight");
}

TEST(LlamaParameters, FullDensity) {
  ModelRequest request = tiny();
  request.density = 1;
  EXPECT_EQ(llvm::cantFail(llamaParameters(request))[7].nnz, 43 * 16);
}

TEST(LlamaParameters, BlockThatDoesNotDivide) {
  ModelRequest request = tiny();
  request.blockRows = 32;
  // 688 = 43 * 16 and 256: heights that divide both are 1, 2, 4, 8, 16.
  EXPECT_EQ(requestError(request), "block 32x16 does not divide layer model.layers.0.mlp.gate_proj.weight of shape "
                                   "688x256; the nearest blocks that divide every sparse layer: 16x16");
  request.blockRows = 12;
  request.blockCols = 5;
  EXPECT_EQ(requestError(request), "block 12x5 does not divide layer model.layers.0.self_attn.q_proj.weight of shape "
                                   "256x256; the nearest blocks that divide every sparse layer: 8x4, 8x8, 16x4, 16x8");
  request.blockRows = 0;
  EXPECT_EQ(requestError(request), "block 0x5 must be positive");
}

TEST(LlamaParameters, DensityOutOfRange) {
  ModelRequest request = tiny();
  for (double density : {0.0, -0.1, 1.5, std::nan("")}) {
    request.density = density;
    EXPECT_THAT(requestError(request), HasSubstr("is outside (0, 1]")) << density;
  }
}

TEST(LlamaParameters, DensityThatLeavesALayerEmpty) {
  ModelRequest request = tiny();
  request.density = 0.001;
  EXPECT_EQ(requestError(request),
            "density 0.001 leaves layer model.layers.0.self_attn.q_proj.weight of shape 256x256 without a block (256 "
            "blocks of 16x16); use at least 0.001953125 or a smaller block");
  request.density = 0.001953125;
  EXPECT_EQ(requestError(request), "");
}

TEST(LlamaParameters, SequencesAndBatches) {
  ModelRequest request = tiny();
  request.seqLen = 4096;
  EXPECT_EQ(requestError(request), "sequence length 4096 is longer than the model's max_position_embeddings = 2048");
  request.seqLen = 0;
  EXPECT_EQ(requestError(request), "batch size 8 and sequence length 0 must be positive");
  request.seqLen = 65;
  EXPECT_EQ(request.paddedSeqLen(), 128);
  request.batch = int64_t(1) << 30;
  EXPECT_THAT(requestError(request), HasSubstr("more than a 32-bit index can count"));
  request = tiny();
  request.warmupUpdates = -1;
  EXPECT_THAT(requestError(request), HasSubstr("warm-up of -1 updates"));
}
