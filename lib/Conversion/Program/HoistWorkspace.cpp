//===- HoistWorkspace.cpp - scratch of kernels moves to their callers -----===//
#include "smet/Conversion/Program.h"

#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace smet {
#define GEN_PASS_DEF_HOISTWORKSPACEPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

struct HoistWorkspacePass : smet::impl::HoistWorkspacePassBase<HoistWorkspacePass> {
  void runOnOperation() final {
    llvm::StringMap<SmallVector<Type>> workspaces;
    for (auto kernel : getOperation().getOps<ModuleOp>()) {
      auto types = hoist(kernel);
      if (failed(types))
        return signalPassFailure();
      if (auto name = kernel.getSymName())
        workspaces[*name] = std::move(*types);
    }
    SmallVector<DispatchOp> dispatches;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](DispatchOp op) { dispatches.push_back(op); });
    for (DispatchOp dispatch : dispatches) {
      OpBuilder b(dispatch);
      for (Type type : workspaces.lookup(dispatch.getKernel().getRootReference()))
        dispatch.getInitsMutable().append(
            memref::AllocOp::create(b, dispatch.getLoc(), cast<MemRefType>(type)).getResult());
    }
  }

  /// Turns the allocations of a kernel into arguments and returns their types.
  static FailureOr<SmallVector<Type>> hoist(ModuleOp kernel) {
    SmallVector<Type> types;
    auto main = kernel.lookupSymbol<func::FuncOp>(names::kernelMain);
    if (!main || main.isExternal())
      return types;
    SmallVector<memref::AllocOp> allocations;
    main.walk([&](memref::AllocOp op) { allocations.push_back(op); });
    for (memref::AllocOp op : allocations) {
      if (op->getBlock() != &main.front() || !op.getType().hasStaticShape() || !op.getType().getLayout().isIdentity())
        return op.emitError(
                   "smet-hoist-workspace: scratch of a kernel must be contiguous, of static size and allocated "
                   "at the top of its main, got ")
               << op.getType();
      unsigned number = main.getNumArguments();
      if (failed(main.insertArgument(number, op.getType(), {}, op.getLoc())))
        return failure();
      types.push_back(op.getType());
      op.replaceAllUsesWith(Value(main.getArgument(number)));
      op.erase();
    }
    main.walk([](memref::DeallocOp op) { op.erase(); });
    return types;
  }
};

} // namespace
