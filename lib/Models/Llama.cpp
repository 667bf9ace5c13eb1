//===- Llama.cpp - the forward of a LLaMA model ---------------------------===//
#include "smet/Models/Llama.h"

#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace smet;

namespace {

class LlamaBuilder {
public:
  LlamaBuilder(MLIRContext *context, const ModelRequest &request, ArrayRef<LlamaParameter> parameters)
      : request(request), model(request.model), parameters(parameters), b(context), loc(b.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> build();

private:
  struct Tensor {
    std::string name;
    StringRef role;
    RankedTensorType type;
  };

  void buildForward();
  void buildPrefill();
  void buildDecode();

  /// Opens a function of all parameters and topologies, then `inputs`; returns the values of `inputs`.
  SmallVector<Value> open(StringRef name, ArrayRef<Tensor> inputs);
  void addParameters(func::FuncOp function);
  void close(ArrayRef<Tensor> outputs, ValueRange values);

  /// Embedding and decoder layers. `attend(i, q, k, v)` is layer i's attention on unrotated q, k.
  Value decoder(Value tokens, function_ref<Value(int64_t, Value, Value, Value)> attend);
  Value attention(Value q, Value k, Value v);
  Value cachedAttention(Value q, Value k, Value v, Value position, Value &kCache, Value &vCache);
  Value rope(Value x);
  Value ropeAt(Value x, Value position);
  Value norm(Value x, const Twine &weight);
  Value linear(Value x, const Twine &weight);
  Value add(Value a, Value c) { return createWithEmptyInits<nn::AddOp>(b, loc, a.getType(), {a, c})->getResult(0); }
  Value logits(Value x);

  RankedTensorType array(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, b.getF32Type()); }
  RankedTensorType integers(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, b.getI32Type()); }
  Type storedElement() { return request.dtype == DType::BF16 ? Type(b.getBF16Type()) : b.getF32Type(); }
  RankedTensorType activation(int64_t tokens, int64_t features) {
    return RankedTensorType::get({tokens, features}, storedElement());
  }
  /// `x`'s tokens with `features` features.
  RankedTensorType activation(Value x, int64_t features) {
    return activation(cast<RankedTensorType>(x.getType()).getDimSize(0), features);
  }
  Value weight(const Twine &name) { return arguments.at(name.str()); }
  StringRef headName() const { return model.tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight"; }
  int64_t kvFeatures() const { return model.numKVHeads * model.headDim(); }
  NamedAttribute integer(StringRef name, int64_t value) { return b.getNamedAttr(name, b.getI64IntegerAttr(value)); }
  NamedAttribute real(StringRef name, double value) { return b.getNamedAttr(name, b.getF64FloatAttr(value)); }
  SmallVector<NamedAttribute> heads() {
    return {integer("num_heads", model.numHeads), integer("num_kv_heads", model.numKVHeads)};
  }
  SmallVector<NamedAttribute> rotation() {
    return {integer("head_dim", model.headDim()), integer("seq_len", request.paddedSeqLen()),
            real("theta", model.ropeTheta)};
  }
  SmallVector<Tensor> caches();
  DictionaryAttr attributes(StringRef name, StringRef role, ArrayRef<NamedAttribute> more = {});
  void describeModule(ModuleOp module);

  const ModelRequest &request;
  const LlamaConfig &model;
  ArrayRef<LlamaParameter> parameters;
  OpBuilder b;
  Location loc;
  func::FuncOp function;
  llvm::StringMap<Value> arguments; ///< parameters and topologies of `function`
};

} // namespace

static std::string topologyOf(const Twine &weight) { return (weight + ".topology").str(); }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

DictionaryAttr LlamaBuilder::attributes(StringRef name, StringRef role, ArrayRef<NamedAttribute> more) {
  NamedAttrList list(more);
  list.set(names::name, b.getStringAttr(name));
  list.set(names::role, b.getStringAttr(role));
  return list.getDictionary(b.getContext());
}

void LlamaBuilder::addParameters(func::FuncOp function) {
  auto append = [&](StringRef name, Type type, DictionaryAttr attrs) {
    unsigned number = function.getNumArguments();
    (void)function.insertArgument(number, type, attrs, loc);
    arguments[name] = function.getArgument(number);
  };
  auto topologyType = [&](const LlamaParameter &p) {
    return TopologyType::get(b.getContext(), p.shape[0], p.shape[1], request.blockRows, request.blockCols, p.nnz);
  };
  for (auto [id, p] : llvm::enumerate(parameters)) {
    NamedAttribute init = p.shape.size() == 2 ? real("normal", model.initializerRange) : real("fill", 1.0);
    SmallVector<NamedAttribute> more{integer(names::layer, id), b.getNamedAttr(names::init, b.getDictionaryAttr(init))};
    if (p.sparse)
      more.push_back(b.getNamedAttr(names::topology, b.getStringAttr(topologyOf(p.name))));
    Type type = p.sparse ? topologyType(p).getValuesType(storedElement()) : array(p.shape);
    append(p.name, type, attributes(p.name, names::param, more));
  }
  for (const LlamaParameter &p : parameters)
    if (p.sparse) {
      std::string name = topologyOf(p.name);
      append(name, topologyType(p), attributes(name, names::topologyRole));
    }
}

SmallVector<Value> LlamaBuilder::open(StringRef name, ArrayRef<Tensor> inputs) {
  function = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  Block *body = function.addEntryBlock();
  arguments.clear();
  addParameters(function);
  SmallVector<Value> values;
  for (const Tensor &input : inputs) {
    unsigned number = function.getNumArguments();
    (void)function.insertArgument(number, input.type, attributes(input.name, input.role), loc);
    values.push_back(function.getArgument(number));
  }
  b.setInsertionPointToStart(body);
  return values;
}

void LlamaBuilder::close(ArrayRef<Tensor> outputs, ValueRange values) {
  func::ReturnOp::create(b, loc, values);
  function.setType(b.getFunctionType(function.getArgumentTypes(), values.getTypes()));
  for (auto [i, output] : llvm::enumerate(outputs))
    function.setResultAttrs(i, attributes(output.name, output.role));
  b.setInsertionPointAfter(function);
}

void LlamaBuilder::buildForward() {
  int64_t tokens = request.batch * request.paddedSeqLen();
  SmallVector<Value> inputs = open("forward", {{"tokens", names::input, integers(tokens)},
                                               {"targets", names::input, integers(tokens)},
                                               {"num_valid", names::input, integers({})}});
  Value x = decoder(inputs[0], [&](int64_t, Value q, Value k, Value v) { return attention(rope(q), rope(k), v); });
  x = norm(x, "model.norm");
  auto loss = createWithEmptyInits<nn::LinearCrossEntropyOp>(b, loc, {array({}), array(tokens)},
                                                             {x, weight(headName()), inputs[1], inputs[2]});
  close({{"loss", names::output, array({})}}, loss->getResult(0));
}

/// Names and types of the KV cache: k and v of every layer, k rotated.
SmallVector<LlamaBuilder::Tensor> LlamaBuilder::caches() {
  SmallVector<Tensor> list;
  for (int64_t i = 0; i < model.numLayers; ++i)
    for (StringRef which : {"k_cache", "v_cache"})
      list.push_back(
          {llvm::formatv("layers.{0}.{1}", i, which), names::state, activation(request.paddedSeqLen(), kvFeatures())});
  return list;
}

void LlamaBuilder::buildPrefill() {
  SmallVector<Value> inputs = open("prefill", {{"tokens", names::input, integers(request.paddedSeqLen())},
                                               {"position", names::input, integers({})}});
  SmallVector<Value> results(1);
  Value x = decoder(inputs[0], [&](int64_t, Value q, Value k, Value v) {
    results.push_back(rope(k));
    results.push_back(v);
    return attention(rope(q), results.end()[-2], v);
  });
  x = createWithEmptyInits<nn::SelectTokenOp>(b, loc, activation(1, model.hiddenSize), {x, inputs[1]})->getResult(0);
  results[0] = logits(x);
  SmallVector<Tensor> outputs = caches();
  outputs.insert(outputs.begin(), {"logits", names::output, array({1, model.vocabSize})});
  close(outputs, results);
}

void LlamaBuilder::buildDecode() {
  SmallVector<Tensor> tensors{{"token", names::input, integers(1)}, {"position", names::input, integers({})}};
  llvm::append_range(tensors, caches());
  SmallVector<Value> values = open("decode", tensors);
  Value position = values[1];
  Value x = decoder(values[0], [&](int64_t i, Value q, Value k, Value v) {
    return cachedAttention(ropeAt(q, position), ropeAt(k, position), v, position, values[2 + 2 * i], values[3 + 2 * i]);
  });
  SmallVector<Value> results{logits(x)};
  llvm::append_range(results, ArrayRef(values).drop_front(2));
  SmallVector<Tensor> outputs = caches();
  outputs.insert(outputs.begin(), {"logits", names::output, array({1, model.vocabSize})});
  close(outputs, results);
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

Value LlamaBuilder::decoder(Value tokens, function_ref<Value(int64_t, Value, Value, Value)> attend) {
  Value table = weight("model.embed_tokens.weight");
  Value x = createWithEmptyInits<nn::EmbeddingOp>(b, loc, activation(tokens, model.hiddenSize), {table, tokens})
                ->getResult(0);
  for (int64_t i = 0; i < model.numLayers; ++i) {
    std::string layer = llvm::formatv("model.layers.{0}", i);
    loc = NameLoc::get(b.getStringAttr(layer));
    Value y = norm(x, layer + ".input_layernorm");
    Value q = linear(y, layer + ".self_attn.q_proj");
    Value k = linear(y, layer + ".self_attn.k_proj");
    Value v = linear(y, layer + ".self_attn.v_proj");
    x = add(x, linear(attend(i, q, k, v), layer + ".self_attn.o_proj"));
    y = norm(x, layer + ".post_attention_layernorm");
    Value gate = linear(y, layer + ".mlp.gate_proj");
    Value up = linear(y, layer + ".mlp.up_proj");
    y = createWithEmptyInits<nn::SiluMulOp>(b, loc, gate.getType(), {gate, up})->getResult(0);
    x = add(x, linear(y, layer + ".mlp.down_proj"));
  }
  loc = b.getUnknownLoc();
  return x;
}

Value LlamaBuilder::attention(Value q, Value k, Value v) {
  SmallVector<NamedAttribute> attrs = heads();
  attrs.push_back(integer("seq_len", request.paddedSeqLen()));
  int64_t tokens = cast<RankedTensorType>(q.getType()).getDimSize(0);
  return createWithEmptyInits<nn::AttentionOp>(b, loc, {q.getType(), array({model.numHeads, tokens})}, {q, k, v}, attrs)
      ->getResult(0);
}

Value LlamaBuilder::cachedAttention(Value q, Value k, Value v, Value position, Value &kCache, Value &vCache) {
  Value output = emptyTensor(b, loc, q.getType());
  auto op = nn::CachedAttentionOp::create(b, loc, TypeRange{q.getType(), kCache.getType(), vCache.getType()},
                                          ValueRange{q, k, v, position, output, kCache, vCache}, heads());
  kCache = op->getResult(1);
  vCache = op->getResult(2);
  return op->getResult(0);
}

Value LlamaBuilder::rope(Value x) {
  return createWithEmptyInits<nn::RopeOp>(b, loc, x.getType(), x, rotation())->getResult(0);
}

Value LlamaBuilder::ropeAt(Value x, Value position) {
  return createWithEmptyInits<nn::RopeAtOp>(b, loc, x.getType(), {x, position}, rotation())->getResult(0);
}

Value LlamaBuilder::norm(Value x, const Twine &layer) {
  return createWithEmptyInits<nn::RMSNormOp>(b, loc, x.getType(), {x, weight(layer + ".weight")},
                                             real("eps", model.rmsNormEps))
      ->getResult(0);
}

Value LlamaBuilder::linear(Value x, const Twine &layer) {
  std::string name = (layer + ".weight").str();
  auto topology = arguments.find(topologyOf(name));
  if (topology == arguments.end()) {
    Value w = weight(name);
    int64_t features = cast<RankedTensorType>(w.getType()).getDimSize(0);
    return createWithEmptyInits<nn::LinearOp>(b, loc, activation(x, features), {x, w})->getResult(0);
  }
  int64_t features = cast<TopologyType>(topology->second.getType()).getRows();
  return createWithEmptyInits<LinearOp>(b, loc, activation(x, features), {topology->second, weight(name), x})
      ->getResult(0);
}

Value LlamaBuilder::logits(Value x) {
  x = norm(x, "model.norm");
  return createWithEmptyInits<nn::LinearOp>(b, loc, array({1, model.vocabSize}), {x, weight(headName())})->getResult(0);
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

void LlamaBuilder::describeModule(ModuleOp module) {
  const AdamWOptions &adamw = request.adamw;
  if (request.kind == ProgramKind::Train) {
    module->setAttr(names::adamw, AdamWAttr::get(b.getContext(), adamw.beta1, adamw.beta2, adamw.eps, adamw.weightDecay,
                                                 request.warmupUpdates, adamw.lrScaling));
    if (request.method == Method::Smet)
      module->setAttr(names::growth, GrowthAttr::get(b.getContext(), Growth::Random));
  }
  llvm::json::Object config{{"kind", stringify(request.kind)},
                            {"model", model.toJSON()},
                            {"method", stringify(request.method)},
                            {"dtype", stringify(request.dtype)},
                            {"batch", request.kind == ProgramKind::Train ? request.batch : 1},
                            {"seq_len", request.seqLen},
                            {"padded_seq_len", request.paddedSeqLen()},
                            {"beta1", adamw.beta1},
                            {"beta2", adamw.beta2},
                            {"eps", adamw.eps},
                            {"weight_decay", adamw.weightDecay},
                            {"lr_scaling", adamw.lrScaling},
                            {"warmup_updates", request.warmupUpdates}};
  if (request.method != Method::Dense) {
    config["density"] = request.density;
    config["block"] = llvm::json::Array{request.blockRows, request.blockCols};
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(config));
  module->setAttr(names::config, b.getStringAttr(text));
}

OwningOpRef<ModuleOp> LlamaBuilder::build() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, loc);
  b.setInsertionPointToStart(module->getBody());
  describeModule(*module);
  if (request.kind == ProgramKind::Train) {
    buildForward();
  } else {
    buildPrefill();
    buildDecode();
  }
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>> smet::buildLlama(MLIRContext *context, const ModelRequest &request) {
  llvm::Expected<std::vector<LlamaParameter>> parameters = llamaParameters(request);
  if (!parameters)
    return parameters.takeError();
  context->loadDialect<SmetDialect, nn::NNDialect, func::FuncDialect>();
  return LlamaBuilder(context, request, *parameters).build();
}
