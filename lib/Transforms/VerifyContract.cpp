//===- VerifyContract.cpp - state is updated in place ---------------------===//
//
// drop-equivalent-buffer-results skips public functions and drops a result that is the *wrong* argument; hence our own.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace smet {
#define GEN_PASS_DEF_VERIFYCONTRACTPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

/// The function's argument that a value is, or that a view or cast looks at; null if there is none.
BlockArgument argumentBehind(func::FuncOp function, Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &function.front() ? argument : BlockArgument();
}

struct VerifyContractPass : smet::impl::VerifyContractPassBase<VerifyContractPass> {
  void runOnOperation() final {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (!function.getBody().hasOneBlock()) {
      function.emitError("smet-verify-contract: expected a body of one block");
      return signalPassFailure();
    }
    if (llvm::any_of(function.getResultTypes(), llvm::IsaPred<TensorType>)) {
      function.emitError("smet-verify-contract: the contract is about memrefs; bufferize first");
      return signalPassFailure();
    }
    bool goodResults = succeeded(checkResults(function)), goodCopies = succeeded(checkCopies(function));
    if (!goodResults || !goodCopies)
      return signalPassFailure();
    dropResults(function);
  }

  static std::string nameOf(func::FuncOp function, unsigned argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument, names::name);
    return name ? "'" + name.str() + "'" : "#" + std::to_string(argument);
  }

  static LogicalResult checkResults(func::FuncOp function) {
    bool good = true;
    llvm::SmallDenseSet<Value> returned;
    for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
      auto name = function.getResultAttrOfType<StringAttr>(i, names::name);
      BlockArgument argument = argumentBehind(function, value);
      if (!argument) {
        function.emitError("smet-verify-contract: result #") << i << (name ? " '" + name.str() + "'" : "")
                                                             << " is a new buffer, not an argument updated in place; "
                                                                "write it to the argument of its name (outs)";
        good = false;
        continue;
      }
      returned.insert(argument);
      if (name && name != function.getArgAttr(argument.getArgNumber(), names::name)) {
        function.emitError("smet-verify-contract: result #")
            << i << " '" << name.getValue() << "' is the buffer of argument "
            << nameOf(function, argument.getArgNumber());
        good = false;
      }
    }
    for (BlockArgument argument : function.getArguments()) {
      auto writable = function.getArgAttrOfType<BoolAttr>(argument.getArgNumber(),
                                                          bufferization::BufferizationDialect::kWritableAttrName);
      if (!writable || !writable.getValue() || returned.contains(argument))
        continue;
      function.emitError("smet-verify-contract: argument ")
          << nameOf(function, argument.getArgNumber())
          << " is writable but not returned; its update would be dead code";
      good = false;
    }
    return success(good);
  }

  static LogicalResult checkCopies(func::FuncOp function) {
    bool good = true;
    function.walk([&](memref::CopyOp copy) {
      for (Value side : {copy.getSource(), copy.getTarget()})
        if (BlockArgument argument = argumentBehind(function, side)) {
          copy.emitError("smet-verify-contract: argument ")
              << nameOf(function, argument.getArgNumber())
              << " is copied; state is updated in place, behind every read of its old value";
          good = false;
        }
    });
    return success(good);
  }

  void dropResults(func::FuncOp function) {
    function.front().getTerminator()->setOperands({});
    if (failed(function.eraseResults(BitVector(function.getNumResults(), true))))
      signalPassFailure();
  }
};

} // namespace
