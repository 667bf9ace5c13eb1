//===- LlamaParameters.cpp - which parameters a request has ---------------===//
#include "smet/Models/Llama.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <numeric>

using namespace llvm;
using namespace smet;

StringRef smet::stringify(Method method) {
  switch (method) {
  case Method::Smet:
    return "smet";
  case Method::Static:
    return "static";
  case Method::Dense:
    return "dense";
  }
  llvm_unreachable("unknown method");
}

StringRef smet::stringify(DType dtype) { return dtype == DType::F32 ? "f32" : "bf16"; }

StringRef smet::stringify(ProgramKind kind) { return kind == ProgramKind::Train ? "train" : "infer"; }

/// All parameters with their dense shapes.
static std::vector<LlamaParameter> listParameters(const LlamaConfig &model, bool sparse) {
  const int64_t hidden = model.hiddenSize, ffn = model.intermediateSize, kv = model.numKVHeads * model.headDim();
  std::vector<LlamaParameter> list;
  list.push_back({"model.embed_tokens.weight", {model.vocabSize, hidden}});
  for (int64_t i = 0; i < model.numLayers; ++i) {
    auto add = [&](StringRef name, std::vector<int64_t> shape) {
      bool isMatrix = shape.size() == 2;
      list.push_back({formatv("model.layers.{0}.{1}.weight", i, name), std::move(shape), sparse && isMatrix});
    };
    add("input_layernorm", {hidden});
    add("self_attn.q_proj", {hidden, hidden});
    add("self_attn.k_proj", {kv, hidden});
    add("self_attn.v_proj", {kv, hidden});
    add("self_attn.o_proj", {hidden, hidden});
    add("post_attention_layernorm", {hidden});
    add("mlp.gate_proj", {ffn, hidden});
    add("mlp.up_proj", {ffn, hidden});
    add("mlp.down_proj", {hidden, ffn});
  }
  list.push_back({"model.norm.weight", {hidden}});
  if (!model.tieWordEmbeddings)
    list.push_back({"lm_head.weight", {model.vocabSize, hidden}});
  return list;
}

/// The divisors of `size` next to `wanted`, below (or equal) and above.
static SmallVector<int64_t> nearestDivisors(int64_t size, int64_t wanted) {
  SmallVector<int64_t> divisors;
  int64_t below = std::clamp<int64_t>(wanted, 1, size);
  while (size % below)
    --below;
  divisors.push_back(below);
  int64_t above = std::max<int64_t>(wanted, 1);
  while (above <= size && size % above)
    ++above;
  if (above <= size && above != below)
    divisors.push_back(above);
  return divisors;
}

static Error blockDoesNotDivide(const ModelRequest &request, const LlamaParameter &layer,
                                ArrayRef<LlamaParameter> parameters) {
  int64_t rows = 0, cols = 0;
  for (const LlamaParameter &parameter : parameters)
    if (parameter.sparse) {
      rows = std::gcd(rows, parameter.shape[0]);
      cols = std::gcd(cols, parameter.shape[1]);
    }
  SmallVector<std::string> blocks;
  for (int64_t r : nearestDivisors(rows, request.blockRows))
    for (int64_t c : nearestDivisors(cols, request.blockCols))
      blocks.push_back(formatv("{0}x{1}", r, c));
  return createStringError(
      formatv("block {0}x{1} does not divide layer {2} of shape {3}x{4}; the nearest blocks that divide every sparse "
              "layer: {5}",
              request.blockRows, request.blockCols, layer.name, layer.shape[0], layer.shape[1], join(blocks, ", ")));
}

/// Gives every sparse layer its number of active blocks.
static Error countBlocks(const ModelRequest &request, MutableArrayRef<LlamaParameter> parameters) {
  const int64_t r = request.blockRows, c = request.blockCols;
  if (r <= 0 || c <= 0)
    return createStringError(formatv("block {0}x{1} must be positive", r, c));
  for (LlamaParameter &layer : parameters) {
    if (!layer.sparse)
      continue;
    int64_t rows = layer.shape[0], cols = layer.shape[1];
    if (rows % r || cols % c)
      return blockDoesNotDivide(request, layer, parameters);
    int64_t blocks = (rows / r) * (cols / c);
    if (blocks > std::numeric_limits<int32_t>::max())
      return createStringError(
          formatv("layer {0} of shape {1}x{2} has {3} blocks of {4}x{5}, more than a 32-bit index can count; use a "
                  "larger block",
                  layer.name, rows, cols, blocks, r, c));
    layer.nnz = std::llround(request.density * static_cast<double>(blocks));
    if (layer.nnz == 0)
      return createStringError(
          formatv("density {0} leaves layer {1} of shape {2}x{3} without a block ({4} blocks of {5}x{6}); use at least "
                  "{7} or a smaller block",
                  json::Value(request.density), layer.name, rows, cols, blocks, r, c, json::Value(0.5 / blocks)));
  }
  return Error::success();
}

Expected<std::vector<LlamaParameter>> smet::llamaParameters(const ModelRequest &request) {
  if (Error error = request.model.check())
    return std::move(error);
  if (request.batch <= 0 || request.seqLen <= 0)
    return createStringError(
        formatv("batch size {0} and sequence length {1} must be positive", request.batch, request.seqLen));
  if (request.seqLen > request.model.maxPositions)
    return createStringError(formatv("sequence length {0} is longer than the model's max_position_embeddings = {1}",
                                     request.seqLen, request.model.maxPositions));
  if (request.batch > std::numeric_limits<int32_t>::max() / request.paddedSeqLen())
    return createStringError(formatv("{0} sequences of {1} tokens are more than a 32-bit index can count",
                                     request.batch, request.paddedSeqLen()));
  if (request.warmupUpdates < 0)
    return createStringError(formatv("warm-up of {0} updates must not be negative", request.warmupUpdates));
  bool sparse = request.method != Method::Dense;
  if (sparse && !(request.density > 0 && request.density <= 1))
    return createStringError(formatv("density {0} is outside (0, 1]", json::Value(request.density)));
  std::vector<LlamaParameter> parameters = listParameters(request.model, sparse);
  if (sparse)
    if (Error error = countBlocks(request, parameters))
      return std::move(error);
  return parameters;
}
