//===- Differentiate.cpp - reverse mode over one block --------------------===//
//
// Forward order finds which values vary with a parameter, reverse order asks every op that the loss depends on for its
// vector-Jacobian product. Ops of the gradient stand behind the forward, in the reverse of its order.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace smet {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

class ReverseMode {
public:
  explicit ReverseMode(func::FuncOp function)
      : function(function), terminator(function.front().getTerminator()), b(terminator) {}

  /// Appends the gradients of the parameters to what the function returns.
  LogicalResult run();

private:
  bool isParameter(BlockArgument argument) {
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), names::role);
    return role && role.getValue() == names::param;
  }
  /// What an op's results depend on, its regions included; destinations are overwritten.
  static SmallVector<Value> inputsOf(Operation *op);
  LogicalResult checkTypes();
  void findVarying(ArrayRef<Operation *> ops);
  LogicalResult differentiate(Operation *op);
  void accumulate(Location loc, Value value, Value gradient);
  Value fill(Location loc, Type type, double constant);
  void returnGradients();

  func::FuncOp function;
  Operation *terminator;
  OpBuilder b;
  DenseSet<Value> varying;
  DenseMap<Value, Value> gradients;
};

SmallVector<Value> ReverseMode::inputsOf(Operation *op) {
  if (auto style = dyn_cast<DestinationStyleOpInterface>(op))
    return style.getDpsInputs();
  llvm::SetVector<Value> inputs(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  return inputs.takeVector();
}

SmallVector<Type> typesOf(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return types;
}

/// Parameters have gradients of their own type, and every result is a value: nothing is written in place.
LogicalResult ReverseMode::checkTypes() {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (isParameter(argument) && !(type && type.hasStaticShape() && isa<FloatType>(type.getElementType())))
      return function.emitError("smet-differentiate: parameter #")
             << argument.getArgNumber() << " must be a tensor of floats of static shape, got " << argument.getType();
  }
  for (Operation &op : function.front())
    for (Type type : typesOf(&op))
      if (isa<BaseMemRefType>(type))
        return op.emitError("smet-differentiate: '")
               << op.getName() << "' works on " << type << "; differentiate before bufferization, on tensors";
  return success();
}

void ReverseMode::findVarying(ArrayRef<Operation *> ops) {
  for (BlockArgument argument : function.getArguments())
    if (isParameter(argument))
      varying.insert(argument);
  for (Operation *op : ops)
    if (llvm::any_of(inputsOf(op), [&](Value input) { return varying.contains(input); }))
      varying.insert_range(op->getResults());
}

Value ReverseMode::fill(Location loc, Type type, double constant) {
  return createWithEmptyInits<nn::FillOp>(b, loc, type, {}, b.getNamedAttr("value", b.getF64FloatAttr(constant)))
      ->getResult(0);
}

void ReverseMode::accumulate(Location loc, Value value, Value gradient) {
  Value &sum = gradients[value];
  sum = sum ? createWithEmptyInits<nn::AddOp>(b, loc, sum.getType(), {sum, gradient})->getResult(0) : gradient;
}

LogicalResult ReverseMode::differentiate(Operation *op) {
  SmallVector<Value> inputs = inputsOf(op), resultGrads, inputGrads(inputs.size());
  for (Value result : op->getResults())
    resultGrads.push_back(gradients.lookup(result));
  llvm::BitVector needed(inputs.size());
  for (auto [i, input] : llvm::enumerate(inputs))
    needed[i] = varying.contains(input);
  if (needed.none() || llvm::none_of(resultGrads, [](Value gradient) { return static_cast<bool>(gradient); }))
    return success();

  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitError("smet-differentiate: '")
           << op->getName() << "' stands between a parameter and the loss and has no gradient";
  if (llvm::any_of(llvm::drop_begin(resultGrads), [](Value gradient) { return static_cast<bool>(gradient); }))
    return op->emitError("smet-differentiate: the loss depends on a result of '")
           << op->getName() << "' other than the first; these are kept for its gradient only";
  for (Type type : typesOf(op))
    if (auto shaped = dyn_cast<ShapedType>(type); shaped && !shaped.hasStaticShape())
      return op->emitError("smet-differentiate: gradients need static shapes, got ") << type;
  differentiable.buildVjp(b, resultGrads, needed, inputGrads);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!needed[i])
      continue;
    if (!inputGrads[i])
      return op->emitError("smet-differentiate: '")
             << op->getName() << "' has no gradient for operand #" << i << ", which depends on a parameter";
    accumulate(op->getLoc(), input, inputGrads[i]);
  }
  return success();
}

void ReverseMode::returnGradients() {
  SmallVector<Value> results(terminator->getOperands());
  SmallVector<DictionaryAttr> attrs{function.getResultAttrDict(0)};
  for (BlockArgument argument : function.getArguments()) {
    if (!isParameter(argument))
      continue;
    Value gradient = gradients.lookup(argument);
    results.push_back(gradient ? gradient : fill(argument.getLoc(), argument.getType(), 0.0));
    NamedAttrList list;
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), names::name)) {
      list.set(names::name, b.getStringAttr(name.getValue() + ".grad"));
      list.set(names::role, b.getStringAttr(names::output));
    }
    attrs.push_back(list.getDictionary(b.getContext()));
  }
  terminator->setOperands(results);
  function.setType(b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(attrs);
}

LogicalResult ReverseMode::run() {
  if (failed(checkTypes()))
    return failure();
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    ops.push_back(&op);
  findVarying(ops);
  Value loss = terminator->getOperand(0);
  accumulate(loss.getLoc(), loss, fill(loss.getLoc(), loss.getType(), 1.0));
  for (Operation *op : llvm::reverse(ops))
    if (failed(differentiate(op)))
      return failure();
  returnGradients();
  return success();
}

bool returnsLoss(func::FuncOp function) {
  if (!function.getBody().hasOneBlock() || function.getNumResults() != 1 ||
      !isa<func::ReturnOp>(function.front().getTerminator()))
    return false;
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[0]);
  return type && type.getRank() == 0 && isa<FloatType>(type.getElementType());
}

struct DifferentiatePass : smet::impl::DifferentiatePassBase<DifferentiatePass> {
  using Base::Base;

  void runOnOperation() final {
    std::string name = function.empty() ? "forward" : function.getValue();
    auto forward = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!forward && function.empty())
      return; // a module for inference
    if (!forward) {
      getOperation().emitError("smet-differentiate: there is no function @") << function;
      return signalPassFailure();
    }
    if (!returnsLoss(forward)) {
      forward.emitError("smet-differentiate: expected a body of one block that returns the loss, a scalar tensor");
      return signalPassFailure();
    }
    if (getOperation().lookupSymbol(name + "_grad")) {
      forward.emitError("smet-differentiate: there is @") << name << "_grad already; differentiate a module once";
      return signalPassFailure();
    }
    func::FuncOp gradient = forward.clone();
    gradient.setName(name + "_grad");
    getOperation().insert(std::next(forward->getIterator()), gradient);
    if (failed(ReverseMode(gradient).run()))
      signalPassFailure();
  }
};

} // namespace
