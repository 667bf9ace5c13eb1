//===- VjpText.cpp - the vector-Jacobian product of an op as text ---------===//
#include "VjpText.h"

#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/InitAll.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace smet;

static DictionaryAttr attributes(OpBuilder &b, StringRef name, StringRef role) {
  return b.getDictionaryAttr(
      {b.getNamedAttr(names::name, b.getStringAttr(name)), b.getNamedAttr(names::role, b.getStringAttr(role))});
}

static void addVjp(func::FuncOp main) {
  func::FuncOp vjp = main.clone();
  vjp.setSymName("vjp");
  main->getBlock()->push_back(vjp);
  Block &body = vjp.front();
  OpBuilder b(body.getTerminator());
  auto op = cast<DifferentiableOpInterface>(body.front());
  auto style = cast<DestinationStyleOpInterface>(body.front());
  auto nameOf = [&](Value value) {
    return vjp.getArgAttrOfType<StringAttr>(cast<BlockArgument>(value).getArgNumber(), names::name).getValue();
  };

  SmallVector<Value> resultGrads(op->getNumResults());
  Type type = op->getResult(0).getType();
  unsigned number = vjp.getNumArguments();
  std::string name = ("d" + nameOf(style.getDpsInits()[0])).str();
  (void)vjp.insertArgument(number, type, attributes(b, name, names::input), vjp.getLoc());
  resultGrads[0] = vjp.getArgument(number);
  SmallVector<Value> inputs = style.getDpsInputs(), inputGrads(inputs.size());
  op.buildVjp(b, resultGrads, llvm::BitVector(inputs.size(), true), inputGrads);

  // The op's own results are returned too, so that its outputs stay outputs.
  SmallVector<Value> results(op->getResults());
  SmallVector<DictionaryAttr> attrs;
  for (Value init : style.getDpsInits())
    attrs.push_back(attributes(b, nameOf(init), names::output));
  for (auto [input, grad] : llvm::zip_equal(inputs, inputGrads)) {
    if (!grad)
      continue;
    if (isa<BlockArgument>(grad) || llvm::is_contained(results, grad)) // nn.add hands its own gradient on
      grad = createWithEmptyInits<nn::AddOp>(
                 b, vjp.getLoc(), grad.getType(),
                 {grad, createWithEmptyInits<nn::FillOp>(b, vjp.getLoc(), grad.getType(), {},
                                                         b.getNamedAttr("value", b.getF64FloatAttr(0)))
                            ->getResult(0)})
                 ->getResult(0);
    results.push_back(grad);
    attrs.push_back(attributes(b, ("d" + nameOf(input)).str(), names::output));
  }
  body.getTerminator()->setOperands(results);
  vjp.setType(b.getFunctionType(vjp.getArgumentTypes(), ValueRange(results).getTypes()));
  vjp.setAllResultAttrs(attrs);
}

std::string test::vjpText(const std::string &text) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "does not parse: " + text;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    main.setResultAttr(i, names::role, StringAttr::get(&context, names::output));
  addVjp(main);
  PassManager pm(&context);
  pm.addPass(createBuildStepsPass());
  pm.addNestedPass<func::FuncOp>(createLowerLinearPass());
  if (failed(pm.run(*module)))
    return "a pass failed: " + text;
  std::string result;
  llvm::raw_string_ostream(result) << *module;
  return result;
}
