//===- EntryPoint.cpp - a function under construction by names ------------===//
#include "EntryPoint.h"

#include "smet/Dialect/Smet/IR/Names.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace smet;

EntryPoint::EntryPoint(OpBuilder &module, Location loc, StringRef name)
    : b(module.getContext()), function(func::FuncOp::create(module, loc, name, module.getFunctionType({}, {}))) {
  b.setInsertionPointToStart(function.addEntryBlock());
}

Value EntryPoint::add(StringRef name, StringRef role, Type type, DictionaryAttr attrs) {
  if (get(name)) {
    function.emitError("smet-build-steps: two arguments of @")
        << function.getSymName() << " are called '" << name << "'; each tensor of a program needs a name of its own";
    good = false;
  }
  NamedAttrList list(attrs);
  list.set(names::name, b.getStringAttr(name));
  list.set(names::role, b.getStringAttr(role));
  list.set(bufferization::BufferizationDialect::kWritableAttrName, b.getBoolAttr(false));
  unsigned number = function.getNumArguments();
  (void)function.insertArgument(number, type, list.getDictionary(b.getContext()), function.getLoc());
  return byName[name] = function.getArgument(number);
}

static LogicalResult typeMismatch(Operation *op, StringRef name, Type type, Type known) {
  return op->emitError("smet-build-steps: '")
         << name << "' is " << type << " here, but the tensor of this name is " << known;
}

LogicalResult EntryPoint::addArgumentsOf(func::FuncOp source) {
  llvm::StringSet<> own;
  for (BlockArgument argument : source.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = source.getArgAttrOfType<StringAttr>(number, names::name);
    auto role = source.getArgAttrOfType<StringAttr>(number, names::role);
    if (!name || !role)
      return source.emitError("smet-build-steps: argument #") << number << " needs smet.name and smet.role";
    Value known = get(name);
    if (!own.insert(name).second || !known)
      known = add(name, role, argument.getType(), source.getArgAttrDict(number));
    if (known.getType() != argument.getType())
      return typeMismatch(source, name, argument.getType(), known.getType());
  }
  return success();
}

LogicalResult EntryPoint::setDestination(Value result, StringRef name, DictionaryAttr attrs) {
  auto op = result.getDefiningOp<DestinationStyleOpInterface>();
  if (!op)
    return emitError(result.getLoc(), "smet-build-steps: result '")
           << name << "' is not computed by an op that writes to a destination";
  Value destination = get(name);
  if (!destination)
    destination = add(name, attrs.getAs<StringAttr>(names::role), result.getType(), attrs);
  if (destination.getType() != result.getType())
    return typeMismatch(op, name, result.getType(), destination.getType());
  OpOperand *init = op.getTiedOpOperand(cast<OpResult>(result));
  if (init->get() == destination)
    return success();
  auto placeholder = init->get().getDefiningOp<tensor::EmptyOp>();
  if (!placeholder)
    return op.emitError("smet-build-steps: result '") << name << "' already has another destination";
  init->set(destination);
  if (placeholder->use_empty())
    placeholder.erase();
  return success();
}

FailureOr<SmallVector<Value>> EntryPoint::inlineBody(func::FuncOp source, function_ref<bool(StringRef)> isOutput) {
  IRMapping mapping;
  for (BlockArgument argument : source.getArguments())
    mapping.map(argument, get(source.getArgAttrOfType<StringAttr>(argument.getArgNumber(), names::name)));
  for (Operation &op : source.front().without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> values;
  for (auto [i, result] : llvm::enumerate(source.front().getTerminator()->getOperands())) {
    Value value = values.emplace_back(mapping.lookup(result));
    auto name = source.getResultAttrOfType<StringAttr>(i, names::name);
    auto role = source.getResultAttrOfType<StringAttr>(i, names::role);
    if (!name || !role)
      return source.emitError("smet-build-steps: result #") << i << " needs smet.name and smet.role";
    if (!isOutput(name))
      continue;
    if (failed(setDestination(value, name, source.getResultAttrDict(i))))
      return failure();
    returns(name, value);
  }
  return values;
}

void EntryPoint::returns(StringRef name, Value value) {
  if (llvm::is_contained(resultNames, name)) {
    function.emitError("smet-build-steps: two results of @")
        << function.getSymName() << " are called '" << name << "'; a tensor has one value at the end";
    good = false;
    return;
  }
  auto argument = cast<BlockArgument>(get(name));
  function.setArgAttr(argument.getArgNumber(), bufferization::BufferizationDialect::kWritableAttrName,
                      b.getBoolAttr(true));
  results.push_back(value);
  resultNames.push_back(byName.find(name)->getKey());
}

LogicalResult EntryPoint::finish() {
  func::ReturnOp::create(b, function.getLoc(), results);
  function.setType(b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(resultNames))
    function.setResultAttr(i, names::name, b.getStringAttr(name));
  return success(good);
}
