//===- OutlineKernels.cpp - compute ops move into kernel modules ----------===//
#include "KernelModules.h"
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Transforms/Passes.h"

namespace smet {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

/// The type that a kernel takes for an operand: without nnz.
Type eraseNnz(Type type, bool isSlots) {
  if (auto topology = dyn_cast<TopologyType>(type))
    return topology.eraseNnz();
  if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && isSlots && tensor.getRank() > 0) {
    SmallVector<int64_t> shape(tensor.getShape());
    shape[0] = ShapedType::kDynamic;
    return tensor.clone(shape);
  }
  return type;
}

/// `func.func @main` with one clone of `op` on the function's arguments. It stands where `op` stood, for messages; its
/// text, which is what kernels are compared by, has no locations.
OwningOpRef<func::FuncOp> buildKernel(KernelOpInterface op) {
  OpBuilder b(op->getContext());
  Location loc = op->getLoc();
  SmallVector<Type> arguments, results;
  for (OpOperand &operand : op->getOpOperands())
    arguments.push_back(eraseNnz(operand.get().getType(), op.isSlots(operand.getOperandNumber())));
  results.assign(arguments.end() - op->getNumResults(), arguments.end());

  OwningOpRef<func::FuncOp> kernel = createKernel(loc, arguments, results);
  Block *body = &kernel->front();
  b.setInsertionPointToEnd(body);
  Operation *clone = b.clone(*op);
  // How it is computed makes it another kernel; what else was said of the op is about the call.
  Attribute choice = clone->getDiscardableAttr(names::choice);
  clone->setDiscardableAttrs(b.getDictionaryAttr({}));
  if (choice)
    clone->setDiscardableAttr(names::choice, choice);
  // Operand by operand: a value that is passed twice has two arguments.
  for (auto [i, operand] : llvm::enumerate(clone->getOpOperands()))
    operand.set(body->getArgument(i));
  for (auto [result, type] : llvm::zip(clone->getResults(), results))
    result.setType(type);
  func::ReturnOp::create(b, loc, clone->getResults());
  return kernel;
}

/// What the call has to do; none where a size is not known. Kernels know no nnz, so it is counted here.
WorkAttr workOf(KernelOpInterface op) {
  bool isKnown = llvm::all_of(op->getOperandTypes(), [](Type type) {
    auto topology = dyn_cast<TopologyType>(type);
    auto array = dyn_cast<ShapedType>(type);
    return topology ? !ShapedType::isDynamic(topology.getNnz()) : !array || array.hasStaticShape();
  });
  if (!isKnown)
    return {};
  Work work = op.getWork();
  return WorkAttr::get(op->getContext(), op->getName().getStringRef(), work.flops, work.bytes, work.cacheBytes);
}

struct OutlineKernelsPass : smet::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() final {
    ModuleOp module = getOperation();
    KernelModules kernels(module);
    SmallVector<KernelOpInterface> work;
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](KernelOpInterface op) { work.push_back(op); });
    for (KernelOpInterface op : work)
      outline(op, kernels);
  }

  static void outline(KernelOpInterface op, KernelModules &kernels) {
    SymbolRefAttr symbol = kernels.add(buildKernel(op), op->getName().getStringRef());
    OpBuilder b(op);
    auto style = cast<DestinationStyleOpInterface>(op.getOperation());
    auto dispatch = DispatchOp::create(b, op->getLoc(), op->getResultTypes(), symbol, style.getDpsInputs(),
                                       style.getDpsInits(), workOf(op));
    dispatch->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    dispatch->removeDiscardableAttr(names::choice);
    op->replaceAllUsesWith(dispatch);
    op->erase();
  }
};

} // namespace
