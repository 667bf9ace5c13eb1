//===- BuildSteps.cpp - forward and gradient to entry points --------------===//
#include "EntryPoint.h"

#include "smet/Dialect/Smet/IR/Names.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "llvm/Support/JSON.h"

namespace smet {
#define GEN_PASS_DEF_BUILDSTEPSPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// A parameter as the forward function declares it, and the names of its state.
struct Parameter {
  std::string name;
  RankedTensorType type;
  DictionaryAttr attrs;
  std::string topology; ///< empty: dense

  bool isSparse() const { return !topology.empty(); }
  std::string m() const { return name + ".m"; }
  std::string v() const { return name + ".v"; }
  std::string age() const { return name + ".age"; }
  int64_t layer() const { return attrs.getAs<IntegerAttr>(names::layer).getInt(); }
  /// Of moments and scores, f32 however the values are stored.
  Type computedElement() const {
    Type element = type.getElementType();
    return element.isBF16() ? Float32Type::get(type.getContext()) : element;
  }
  RankedTensorType momentType() const { return RankedTensorType::get(type.getShape(), computedElement()); }
  RankedTensorType ageType() const {
    return RankedTensorType::get({type.getDimSize(0)}, IntegerType::get(type.getContext(), 16));
  }
  /// Arrays with an entry per slot, values first.
  SmallVector<std::string> slotArrays() const { return {name, m(), v(), age()}; }
};

/// An argument of the forward function that is a topology.
struct TopologyArgument {
  std::string name;
  TopologyType type;
};

class StepBuilder {
public:
  StepBuilder(ModuleOp module, func::FuncOp forward, func::FuncOp gradient)
      : module(module), forward(forward), gradient(gradient), b(forward) {}

  LogicalResult readArguments();
  LogicalResult buildInit();
  LogicalResult buildTrainStep();
  LogicalResult buildEvalStep();
  LogicalResult buildUpdateTopology(GrowthAttr growth);

private:
  LogicalResult readParameter(BlockArgument argument, DictionaryAttr attrs);
  LogicalResult checkTopology(const Parameter &p);
  /// Appends parameters, first and second moments, and ages; only those of sparse layers if asked.
  void addState(EntryPoint &entry, bool sparseOnly = false);
  void addTopologies(EntryPoint &entry);
  Value addScalar(EntryPoint &entry, StringRef name, Type type) {
    return entry.add(name, names::input, RankedTensorType::get({}, type));
  }
  Value initialize(EntryPoint &entry, const Parameter &p, Value seed);
  void updateLayer(EntryPoint &entry, const Parameter &p, GrowthAttr growth, Value seed, Value update, Value rate);
  void buildOptimizerStep(EntryPoint &entry, const Parameter &p, Value grad, Operation *check, AdamWAttr adamw);

  ModuleOp module;
  func::FuncOp forward, gradient;
  OpBuilder b;
  std::vector<Parameter> parameters;
  std::vector<TopologyArgument> topologies;
};

LogicalResult StepBuilder::readParameter(BlockArgument argument, DictionaryAttr attrs) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  auto init = attrs.getAs<DictionaryAttr>(names::init);
  auto layer = attrs.getAs<IntegerAttr>(names::layer);
  if (!type || !type.hasStaticShape() || !layer || !layer.getType().isInteger(64) || !init ||
      !(init.getAs<FloatAttr>("normal") || init.getAs<FloatAttr>("fill")))
    return forward.emitError("smet-build-steps: parameter ")
           << attrs.get(names::name)
           << " needs a static tensor type, smet.layer (i64) and smet.init = {normal = std} or {fill = value}, got "
           << argument.getType();
  auto topology = attrs.getAs<StringAttr>(names::topology);
  parameters.push_back({attrs.getAs<StringAttr>(names::name).str(), type, attrs, topology ? topology.str() : ""});
  return success();
}

/// The values of a sparse layer fit its topology.
LogicalResult StepBuilder::checkTopology(const Parameter &p) {
  auto topology = llvm::find_if(topologies, [&](const TopologyArgument &t) { return t.name == p.topology; });
  if (topology == topologies.end())
    return forward.emitError("smet-build-steps: '")
           << p.name << "' names a topology '" << p.topology << "' that is no argument of topology type";
  TopologyType type = topology->type;
  if (type.getValuesType(p.type.getElementType()) != p.type)
    return forward.emitError("smet-build-steps: '")
           << p.name << "' is " << p.type << ", but its topology '" << p.topology << "' is " << Type(type);
  return success();
}

LogicalResult StepBuilder::readArguments() {
  for (BlockArgument argument : forward.getArguments()) {
    unsigned number = argument.getArgNumber();
    DictionaryAttr attrs = forward.getArgAttrDict(number);
    auto name = forward.getArgAttrOfType<StringAttr>(number, names::name);
    auto role = forward.getArgAttrOfType<StringAttr>(number, names::role);
    if (!name || !role)
      return forward.emitError("smet-build-steps: argument #") << number << " needs smet.name and smet.role";
    if (role.getValue() == names::param && failed(readParameter(argument, attrs)))
      return failure();
    if (auto type = dyn_cast<TopologyType>(argument.getType()))
      topologies.push_back({name.str(), type});
  }
  for (const Parameter &p : parameters)
    if (p.isSparse() && failed(checkTopology(p)))
      return failure();
  return success();
}

void StepBuilder::addState(EntryPoint &entry, bool sparseOnly) {
  auto forEach = [&](function_ref<void(const Parameter &)> add) {
    for (const Parameter &p : parameters)
      if (p.isSparse() || !sparseOnly)
        add(p);
  };
  forEach([&](const Parameter &p) { entry.add(p.name, names::param, p.type, p.attrs); });
  forEach([&](const Parameter &p) { entry.add(p.m(), names::state, p.momentType()); });
  forEach([&](const Parameter &p) { entry.add(p.v(), names::state, p.momentType()); });
  forEach([&](const Parameter &p) {
    if (p.isSparse())
      entry.add(p.age(), names::state, p.ageType());
  });
}

void StepBuilder::addTopologies(EntryPoint &entry) {
  for (const TopologyArgument &t : topologies)
    entry.add(t.name, names::topologyRole, t.type);
}

//===----------------------------------------------------------------------===//
// init
//===----------------------------------------------------------------------===//

Value StepBuilder::initialize(EntryPoint &entry, const Parameter &p, Value seed) {
  auto init = p.attrs.getAs<DictionaryAttr>(names::init);
  Value destination = entry.get(p.name);
  Value topology;
  if (p.isSparse()) {
    Value arrays = entry.get(p.topology);
    topology = TopologyInitOp::create(entry.b, forward.getLoc(), arrays.getType(), seed, arrays, p.layer());
    entry.returns(p.topology, topology);
  }
  if (auto value = init.getAs<FloatAttr>("fill"))
    return FillOp::create(entry.b, forward.getLoc(), p.type, destination, APFloat(value.getValueAsDouble()));
  return InitNormalOp::create(entry.b, forward.getLoc(), p.type, seed, topology, destination, p.layer(),
                              APFloat(init.getAs<FloatAttr>("normal").getValueAsDouble()));
}

LogicalResult StepBuilder::buildInit() {
  EntryPoint entry(b, forward.getLoc(), "init");
  Value seed = addScalar(entry, "seed", b.getI64Type());
  addState(entry);
  addTopologies(entry);
  for (const Parameter &p : parameters) {
    entry.returns(p.name, initialize(entry, p, seed));
    SmallVector<std::string> zeros{p.m(), p.v()};
    if (p.isSparse())
      zeros.push_back(p.age());
    for (const std::string &name : zeros) {
      Value array = entry.get(name);
      entry.returns(name, FillOp::create(entry.b, forward.getLoc(), array.getType(), array, APFloat(0.0)));
    }
  }
  return entry.finish();
}

//===----------------------------------------------------------------------===//
// train_step, eval_step
//===----------------------------------------------------------------------===//

/// Behind the gradient, the last read of the old weight and the check of the loss.
static void setInsertionPointForUpdate(OpBuilder &b, Value weight, Value grad, Operation *check) {
  Operation *last = check;
  auto moveBehind = [&](Operation *op) {
    if (last->isBeforeInBlock(op))
      last = op;
  };
  if (Operation *producer = grad.getDefiningOp())
    moveBehind(producer);
  for (Operation *user : weight.getUsers())
    moveBehind(check->getBlock()->findAncestorOpInBlock(*user));
  b.setInsertionPointAfter(last);
}

void StepBuilder::buildOptimizerStep(EntryPoint &entry, const Parameter &p, Value grad, Operation *check,
                                     AdamWAttr adamw) {
  Value w = entry.get(p.name), m = entry.get(p.m()), v = entry.get(p.v());
  Value lr = entry.get("lr"), step = entry.get("step");
  OpBuilder::InsertionGuard guard(entry.b);
  setInsertionPointForUpdate(entry.b, w, grad, check);
  NamedAttribute attr = b.getNamedAttr("adamw", adamw);
  SmallVector<std::string> written{p.name, p.m(), p.v()};
  Operation *op;
  if (p.isSparse()) {
    Value age = entry.get(p.age());
    written.push_back(p.age());
    op = AdamStepOp::create(entry.b, grad.getLoc(), TypeRange{p.type, p.momentType(), p.momentType(), p.ageType()},
                            ValueRange{entry.get(p.topology), grad, lr, step, w, m, v, age}, attr);
  } else {
    op = DenseAdamStepOp::create(entry.b, grad.getLoc(), TypeRange{p.type, p.momentType(), p.momentType()},
                                 ValueRange{grad, lr, step, w, m, v}, attr);
  }
  for (auto [name, result] : llvm::zip_equal(written, op->getResults()))
    entry.returns(name, result);
}

LogicalResult StepBuilder::buildTrainStep() {
  auto adamw = module->getAttrOfType<AdamWAttr>(names::adamw);
  if (!adamw)
    return module.emitError("smet-build-steps: the module needs smet.adamw for a training step");
  if (gradient.getNumResults() != 1 + parameters.size())
    return gradient.emitError("smet-build-steps: expected the loss and a gradient for each of ")
           << parameters.size() << " parameters";
  EntryPoint entry(b, forward.getLoc(), "train_step");
  addState(entry);
  if (failed(entry.addArgumentsOf(gradient)))
    return failure();
  addScalar(entry, "lr", b.getF32Type());
  addScalar(entry, "step", b.getI64Type());
  auto isLoss = [&](StringRef name) { return gradient.getResultAttr(0, names::name) == b.getStringAttr(name); };
  FailureOr<SmallVector<Value>> values = entry.inlineBody(gradient, isLoss);
  if (failed(values))
    return failure();

  Value loss = values->front();
  OpBuilder behindLoss(b.getContext());
  behindLoss.setInsertionPointAfterValue(loss);
  Operation *check = CheckFiniteOp::create(behindLoss, loss.getLoc(), loss);
  for (auto [p, grad] : llvm::zip_equal(parameters, llvm::drop_begin(*values)))
    buildOptimizerStep(entry, p, grad, check, adamw);
  return entry.finish();
}

/// A function whose arguments and results are all tensors of the program.
LogicalResult buildAsIs(OpBuilder &b, func::FuncOp source, StringRef name) {
  EntryPoint entry(b, source.getLoc(), name);
  if (failed(entry.addArgumentsOf(source)) || failed(entry.inlineBody(source, [](StringRef) { return true; })))
    return failure();
  return entry.finish();
}

LogicalResult StepBuilder::buildEvalStep() { return buildAsIs(b, forward, "eval_step"); }

//===----------------------------------------------------------------------===//
// update_topology
//===----------------------------------------------------------------------===//

void StepBuilder::updateLayer(EntryPoint &entry, const Parameter &p, GrowthAttr growth, Value seed, Value update,
                              Value rate) {
  Location loc = forward.getLoc();
  Value topology = entry.get(p.topology);
  auto perSlot = [&](Type element) { return RankedTensorType::get({p.type.getDimSize(0)}, element); };
  Value score =
      createWithEmptyInits<ScoreOp>(entry.b, loc, perSlot(p.computedElement()), entry.get(p.name))->getResult(0);
  Value keep = PruneOp::create(entry.b, loc, perSlot(b.getI8Type()), topology, score, rate);
  Value grown =
      GrowOp::create(entry.b, loc, perSlot(b.getI32Type()), growth.getValue(), topology, keep, seed, update, p.layer());
  auto updated = UpdateTopologyOp::create(entry.b, loc, topology, keep, grown);
  entry.returns(p.topology, updated.getResult());
  for (const std::string &name : p.slotArrays()) {
    Value array = entry.get(name);
    entry.returns(name, RemapOp::create(entry.b, loc, array.getType(), updated.getSlotMap(), array));
  }
}

LogicalResult StepBuilder::buildUpdateTopology(GrowthAttr growth) {
  EntryPoint entry(b, forward.getLoc(), "update_topology");
  addState(entry, /*sparseOnly=*/true);
  addTopologies(entry);
  Value seed = addScalar(entry, "seed", b.getI64Type());
  Value update = addScalar(entry, "update", b.getI64Type());
  Value rate = addScalar(entry, "prune_rate", b.getF64Type());
  for (const Parameter &p : parameters)
    if (p.isSparse())
      updateLayer(entry, p, growth, seed, update, rate);
  return entry.finish();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// The manifest's list of sparse layers, from the arguments of any function.
void listLayers(ModuleOp module, func::FuncOp function) {
  llvm::json::Array layers;
  llvm::StringMap<TopologyType> topologies;
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<TopologyType>(argument.getType()))
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), names::name))
        topologies[name] = type;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto topology = function.getArgAttrOfType<StringAttr>(i, names::topology);
    auto layer = function.getArgAttrOfType<IntegerAttr>(i, names::layer);
    auto name = function.getArgAttrOfType<StringAttr>(i, names::name);
    TopologyType type = topology ? topologies.lookup(topology) : TopologyType();
    if (type && layer && name)
      layers.push_back(llvm::json::Object{{"name", name.getValue()},
                                          {"id", layer.getInt()},
                                          {"rows", type.getRows()},
                                          {"cols", type.getCols()},
                                          {"block", llvm::json::Array{type.getBlockRows(), type.getBlockCols()}},
                                          {"nnz", type.getNnz()}});
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(layers));
  module->setAttr(names::layers, StringAttr::get(module.getContext(), text));
}

struct BuildStepsPass : smet::impl::BuildStepsPassBase<BuildStepsPass> {
  using Base::Base;

  void runOnOperation() final {
    SmallVector<func::FuncOp> sources(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp source : sources)
      if (!source.getBody().hasOneBlock() || !isa<func::ReturnOp>(source.front().getTerminator())) {
        source.emitError("smet-build-steps: expected a body of one block that ends in a return");
        return signalPassFailure();
      }
    auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!sources.empty())
      listLayers(getOperation(), forward ? forward : sources.front());
    if (failed(forward ? buildTraining(forward) : buildOthers(sources)))
      return signalPassFailure();
    for (func::FuncOp source : sources)
      source.erase();
  }

private:
  LogicalResult buildTraining(func::FuncOp forward) {
    auto gradient = getOperation().lookupSymbol<func::FuncOp>("forward_grad");
    if (!gradient)
      return forward.emitError("smet-build-steps: there is no @forward_grad; run smet-differentiate first");
    StepBuilder steps(getOperation(), forward, gradient);
    if (failed(steps.readArguments()))
      return failure();
    if (failed(steps.buildInit()) || failed(steps.buildTrainStep()) || failed(steps.buildEvalStep()))
      return failure();
    if (Attribute growth = getOperation()->getAttr(names::growth)) {
      if (!isa<GrowthAttr>(growth))
        return getOperation().emitError("smet-build-steps: smet.growth must be #smet.growth<...>, got ") << growth;
      if (failed(steps.buildUpdateTopology(cast<GrowthAttr>(growth))))
        return failure();
    }
    OpBuilder b(forward);
    return gradients ? buildAsIs(b, gradient, "gradients") : success();
  }

  LogicalResult buildOthers(ArrayRef<func::FuncOp> sources) {
    for (func::FuncOp source : sources) {
      OpBuilder b(source);
      std::string name = source.getSymName().str();
      source.setSymName(name + "_source");
      if (failed(buildAsIs(b, source, name)))
        return failure();
    }
    return success();
  }
};

} // namespace
