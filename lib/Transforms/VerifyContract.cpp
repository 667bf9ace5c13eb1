//===- VerifyContract.cpp - state is updated in place ---------------------===//
//
// drop-equivalent-buffer-results skips public functions and drops a result that is the *wrong* argument; hence our own.
//
//===----------------------------------------------------------------------===//
#include "smet/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace smet {
#define GEN_PASS_DEF_VERIFYCONTRACTPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

/// The buffer that a view or cast looks at.
Value rootOf(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

struct VerifyContractPass : smet::impl::VerifyContractPassBase<VerifyContractPass> {
  void runOnOperation() final {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (!function.getBody().hasOneBlock()) {
      function.emitError("expected a single block");
      return signalPassFailure();
    }
    if (failed(checkResults(function)) | failed(checkCopies(function)))
      return signalPassFailure();
    dropResults(function);
  }

  static std::string nameOf(func::FuncOp function, unsigned argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument, "smet.name");
    return name ? "'" + name.str() + "'" : "#" + std::to_string(argument);
  }

  static LogicalResult checkResults(func::FuncOp function) {
    bool good = true;
    llvm::SmallDenseSet<Value> returned;
    for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
      auto name = function.getResultAttrOfType<StringAttr>(i, "smet.name");
      auto argument = dyn_cast<BlockArgument>(rootOf(value));
      if (!argument) {
        function.emitError("result #") << i << (name ? " '" + name.str() + "'" : "")
                                       << " is a new buffer, not an argument updated in place";
        good = false;
        continue;
      }
      returned.insert(argument);
      if (name && name != function.getArgAttr(argument.getArgNumber(), "smet.name")) {
        function.emitError("result #") << i << " '" << name.getValue() << "' is the buffer of argument "
                                       << nameOf(function, argument.getArgNumber());
        good = false;
      }
    }
    for (BlockArgument argument : function.getArguments()) {
      auto writable = function.getArgAttrOfType<BoolAttr>(argument.getArgNumber(), "bufferization.writable");
      if (!writable || !writable.getValue() || returned.contains(argument))
        continue;
      function.emitError("argument ") << nameOf(function, argument.getArgNumber())
                                      << " is writable but not returned; its update would be dead code";
      good = false;
    }
    return success(good);
  }

  static LogicalResult checkCopies(func::FuncOp function) {
    bool good = true;
    function.walk([&](memref::CopyOp copy) {
      for (Value side : {copy.getSource(), copy.getTarget()})
        if (auto argument = dyn_cast<BlockArgument>(rootOf(side))) {
          copy.emitError("argument ") << nameOf(function, argument.getArgNumber()) << " is copied";
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
