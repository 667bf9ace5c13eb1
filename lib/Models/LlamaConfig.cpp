//===- LlamaConfig.cpp - Hugging Face config.json -------------------------===//
//
// Every key is looked at: read, checked to have the one value that is implemented, known not to change the maths, or
// reported.
//
//===----------------------------------------------------------------------===//
#include "smet/Models/Llama.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace smet;

/// Keys of a config.json that say nothing about the architecture: token ids, storage, run-time and generation settings.
static bool isHarmless(StringRef key) {
  static constexpr StringLiteral keys =
      " bos_token_id eos_token_id pad_token_id unk_token_id sep_token_id torch_dtype dtype "
      "transformers_version use_cache output_attentions output_hidden_states return_dict torchscript "
      "use_return_dict return_dict_in_generate task_specific_params tokenizer_class id2label label2id "
      "finetuning_task problem_type max_length min_length do_sample temperature top_k top_p num_beams "
      "repetition_penalty num_return_sequences keys_to_ignore_at_inference auto_map ";
  return key.starts_with("_") || keys.contains((" " + key + " ").str());
}

namespace {

/// Reads keys one after the other; what is never asked for is unknown.
class ConfigReader {
public:
  explicit ConfigReader(const json::Object &json) : json(json) {}

  void read(StringRef key, int64_t &out) {
    if (const json::Value *value = find(key)) {
      if (auto integer = value->getAsInteger())
        out = *integer;
      else
        wrongType(key, *value, "an integer");
    }
  }

  void read(StringRef key, double &out) {
    if (const json::Value *value = find(key)) {
      if (auto number = value->getAsNumber())
        out = *number;
      else
        wrongType(key, *value, "a number");
    }
  }

  void read(StringRef key, bool &out) {
    if (const json::Value *value = find(key)) {
      if (auto flag = value->getAsBoolean())
        out = *flag;
      else
        wrongType(key, *value, "true or false");
    }
  }

  /// A key that may only have one of these values (or be null or absent).
  void require(StringRef key, ArrayRef<json::Value> supported, StringRef wanted) {
    const json::Value *value = find(key);
    if (value && !is_contained(supported, *value))
      problem(formatv("{0} = {1} is not supported (only {2})", key, *value, wanted));
  }

  /// Null stands for an absent key.
  const json::Value *find(StringRef key) {
    seen.insert(key);
    const json::Value *value = json.get(key);
    return value && value->kind() != json::Value::Null ? value : nullptr;
  }

  void problem(const Twine &text) { problems.push_back(text.str()); }

  void reportUnknownKeys() {
    SmallVector<StringRef> unknown;
    for (const auto &[key, value] : json)
      if (!seen.contains(key) && !isHarmless(key) && value.kind() != json::Value::Null)
        unknown.push_back(key);
    llvm::sort(unknown);
    if (!unknown.empty())
      problem("unknown keys that may change the model: " + join(unknown, ", "));
  }

  Error finish() {
    if (problems.empty())
      return Error::success();
    return createStringError("model configuration: " + join(problems, "\nmodel configuration: "));
  }

private:
  void wrongType(StringRef key, const json::Value &value, StringRef wanted) {
    problem(formatv("{0} must be {1}, got {2}", key, wanted, value));
  }

  const json::Object &json;
  StringSet<> seen;
  std::vector<std::string> problems;
};

} // namespace

static void readMaxPositions(ConfigReader &reader, LlamaConfig &config) {
  int64_t older = 0;
  reader.read("max_position_embeddings", config.maxPositions);
  reader.read("max_sequence_length", older);
  if (!reader.find("max_sequence_length"))
    return;
  if (reader.find("max_position_embeddings") && older != config.maxPositions)
    reader.problem(formatv("max_position_embeddings = {0} and max_sequence_length = {1} contradict each other",
                           config.maxPositions, older));
  config.maxPositions = older;
}

/// Newer files have an object {rope_theta, rope_type} instead of the two keys.
static void readRope(ConfigReader &reader, LlamaConfig &config) {
  reader.read("rope_theta", config.ropeTheta);
  reader.require("rope_scaling", {}, "null");
  const json::Value *parameters = reader.find("rope_parameters");
  if (!parameters)
    return;
  const json::Object *object = parameters->getAsObject();
  if (!object || object->getString("rope_type").value_or("default") != "default" ||
      any_of(*object, [](const auto &entry) { return entry.first != "rope_type" && entry.first != "rope_theta"; }))
    return reader.problem(
        formatv("rope_parameters = {0} is not supported (only rope_type = \"default\" and rope_theta)", *parameters));
  config.ropeTheta = object->getNumber("rope_theta").value_or(config.ropeTheta);
}

static void requireSupported(ConfigReader &reader) {
  reader.require("model_type", {"llama"}, "\"llama\"");
  reader.require("architectures", {json::Array{"LlamaForCausalLM"}, json::Array{"LLaMAForCausalLM"}},
                 "[\"LlamaForCausalLM\"]");
  reader.require("hidden_act", {"silu"}, "\"silu\"");
  for (StringRef key :
       {"attention_bias", "mlp_bias", "is_encoder_decoder", "add_cross_attention", "is_decoder", "tie_encoder_decoder"})
    reader.require(key, {false}, "false");
  reader.require("attention_dropout", {0}, "0");
  reader.require("pretraining_tp", {1}, "1");
  reader.require("chunk_size_feed_forward", {0}, "0");
  reader.require("pruned_heads", {json::Object{}}, "{}");
}

Expected<LlamaConfig> LlamaConfig::parse(const json::Object &json) {
  ConfigReader reader(json);
  LlamaConfig config;
  reader.read("vocab_size", config.vocabSize);
  reader.read("hidden_size", config.hiddenSize);
  if (!reader.find("hidden_size")) // other keys may be left to their defaults, but {} is no model of 7B parameters
    reader.problem("hidden_size is missing; this is not a Hugging Face LLaMA config.json");
  reader.read("intermediate_size", config.intermediateSize);
  reader.read("num_hidden_layers", config.numLayers);
  reader.read("num_attention_heads", config.numHeads);
  config.numKVHeads = config.numHeads;
  reader.read("num_key_value_heads", config.numKVHeads);
  reader.read("rms_norm_eps", config.rmsNormEps);
  reader.read("initializer_range", config.initializerRange);
  reader.read("tie_word_embeddings", config.tieWordEmbeddings);
  readMaxPositions(reader, config);
  readRope(reader, config);
  requireSupported(reader);

  bool sized = config.numHeads > 0 && config.hiddenSize % config.numHeads == 0;
  int64_t headDim = sized ? config.headDim() : 0, wanted = headDim;
  reader.read("head_dim", wanted);
  if (sized && wanted != headDim)
    reader.problem(
        formatv("head_dim = {0} is not supported (only hidden_size / num_attention_heads = {1})", wanted, headDim));
  reader.reportUnknownKeys();
  Error error = joinErrors(reader.finish(), config.check());
  if (error)
    return std::move(error);
  return config;
}

Error LlamaConfig::check() const {
  auto fail = [](const Twine &text) { return createStringError("model configuration: " + text); };
  std::pair<StringRef, int64_t> sizes[] = {{"vocab_size", vocabSize},
                                           {"hidden_size", hiddenSize},
                                           {"intermediate_size", intermediateSize},
                                           {"num_hidden_layers", numLayers},
                                           {"num_attention_heads", numHeads},
                                           {"num_key_value_heads", numKVHeads},
                                           {"max_position_embeddings", maxPositions}};
  for (auto [key, value] : sizes)
    if (value <= 0 || value > std::numeric_limits<int32_t>::max())
      return fail(formatv("{0} = {1} must be positive and fit 32 bits", key, value));
  if (hiddenSize % numHeads)
    return fail(formatv("num_attention_heads = {0} does not divide hidden_size = {1}", numHeads, hiddenSize));
  if (numHeads % numKVHeads)
    return fail(formatv("num_key_value_heads = {0} does not divide num_attention_heads = {1}", numKVHeads, numHeads));
  if (headDim() % 2)
    return fail(
        formatv("head size {0} (hidden_size / num_attention_heads) must be even for rotary embeddings", headDim()));
  std::pair<StringRef, double> positives[] = {
      {"rms_norm_eps", rmsNormEps}, {"rope_theta", ropeTheta}, {"initializer_range", initializerRange}};
  for (auto [key, value] : positives)
    if (!(value > 0 && std::isfinite(value)))
      return fail(formatv("{0} = {1} must be positive", key, json::Value(value)));
  return Error::success();
}

json::Object LlamaConfig::toJSON() const {
  return json::Object{{"architectures", json::Array{"LlamaForCausalLM"}},
                      {"model_type", "llama"},
                      {"hidden_act", "silu"},
                      {"vocab_size", vocabSize},
                      {"hidden_size", hiddenSize},
                      {"intermediate_size", intermediateSize},
                      {"num_hidden_layers", numLayers},
                      {"num_attention_heads", numHeads},
                      {"num_key_value_heads", numKVHeads},
                      {"max_position_embeddings", maxPositions},
                      {"rms_norm_eps", rmsNormEps},
                      {"rope_theta", ropeTheta},
                      {"initializer_range", initializerRange},
                      {"tie_word_embeddings", tieWordEmbeddings}};
}
