//===- OutlineRoutines.cpp - topology updates move into kernel modules ----===//
#include "KernelModules.h"
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Interfaces/Work.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smet {
#define GEN_PASS_DEF_OUTLINEROUTINESPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

constexpr StringLiteral prune = "prune", growRandom = "grow_random";
/// Of grow_random: the layer.
constexpr size_t layerWord = 5;

/// With the operands and words that are touched here.
bool isUpdate(RoutineOp op) {
  if (op.getName() == prune)
    return op.getInputs().size() == 2;
  if (op.getName() == growRandom)
    return op.getWords().size() > layerWord;
  return op.getName() == "update_topology" || op.getName() == "remap";
}

/// `func.func @main` with the routine on its arguments.
OwningOpRef<func::FuncOp> buildKernel(RoutineOp op, ValueRange inputs, ValueRange inits, ArrayRef<int64_t> words) {
  SmallVector<Type> arguments(inputs.getTypes());
  llvm::append_range(arguments, inits.getTypes());
  OwningOpRef<func::FuncOp> kernel = createKernel(op.getLoc(), arguments, inits.getTypes());
  OpBuilder b(kernel->getBody());
  ValueRange all = kernel->getArguments();
  auto routine = RoutineOp::create(b, op.getLoc(), inits.getTypes(), op.getName(), all.take_front(inputs.size()),
                                   all.take_back(inits.size()), words);
  func::ReturnOp::create(b, op.getLoc(), routine.getResults());
  return kernel;
}

struct OutlineRoutinesPass : smet::impl::OutlineRoutinesPassBase<OutlineRoutinesPass> {
  void runOnOperation() final {
    KernelModules kernels(getOperation());
    SmallVector<RoutineOp> updates;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](RoutineOp op) {
        if (isUpdate(op))
          updates.push_back(op);
      });
    for (RoutineOp op : updates)
      outline(op, kernels);
  }

  static void outline(RoutineOp op, KernelModules &kernels) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    SmallVector<Value> inputs(op.getInputs()), inits(op.getInits());
    SmallVector<int64_t> words(op.getWords());
    if (op.getName() == growRandom)
      inputs.push_back(
          arith::ConstantIntOp::create(b, loc, b.getI64Type(), std::exchange(words[layerWord], 0)).getResult());
    if (op.getName() == prune)
      inits.push_back(emptyTensor(b, loc, RankedTensorType::get({}, b.getI64Type())));

    SymbolRefAttr kernel = kernels.add(buildKernel(op, inputs, inits, words), op.getName());
    auto work = WorkAttr::get(b.getContext(), op.getName(), /*flops=*/0, bytesOf(op->getOperands()), /*cacheBytes=*/0);
    auto dispatch = DispatchOp::create(b, loc, TypeRange(ValueRange(inits)), kernel, inputs, inits, work);
    if (op.getName() == prune) {
      b.setInsertionPoint(op->getBlock()->getTerminator());
      RoutineOp::create(b, loc, TypeRange(), "check_prune", ValueRange{inputs[1], dispatch.getResults().back()},
                        ValueRange(), ArrayRef<int64_t>());
    }
    op.replaceAllUsesWith(dispatch.getResults().take_front(op.getNumResults()));
    op.erase();
  }
};

} // namespace
