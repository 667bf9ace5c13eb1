//===- PackTokens.cpp - activations become packed token tiles -------------===//
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

namespace smet {
#define GEN_PASS_DEF_PACKTOKENSPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

struct PackTokensPass : smet::impl::PackTokensPassBase<PackTokensPass> {
  using Base::Base;

  void runOnOperation() final {
    func::FuncOp function = getOperation();
    if (tile < 1 || tile > maxTile || smallTile < 1 || smallTile > maxTile) {
      function.emitError("smet-pack-tokens: tile sizes must be from 1 to ") << maxTile;
      return signalPassFailure();
    }
    if (!function.getBody().hasOneBlock())
      return;
    activations.clear();
    findActivations(function);
    if (llvm::any_of(activations, [](Value value) { return failed(checkActivation(value)); }))
      return signalPassFailure();
    for (BlockArgument argument : function.getArguments())
      packArgument(function, argument);
    function.walk([&](KernelOpInterface op) { packOp(op); });
    unpackResults(function);
    function.setType(FunctionType::get(&getContext(), function.front().getArgumentTypes(),
                                       function.front().getTerminator()->getOperandTypes()));
  }

private:
  static constexpr int64_t maxTile = 1024; // a tile's lanes are one vector

  /// Token operands and the results tied to them. nn.add takes part where a neighbour is an activation: gradients of
  /// parameters are summed by it too.
  void findActivations(func::FuncOp function) {
    auto insert = [&](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.getRank() == 2 && activations.insert(value);
    };
    auto insertAll = [&](KernelOpInterface op) {
      bool changed = false;
      for (OpOperand &operand : op->getOpOperands())
        if (op.isTokens(operand.getOperandNumber())) {
          changed |= insert(operand.get());
          auto style = cast<DestinationStyleOpInterface>(op.getOperation());
          if (style.isDpsInit(&operand) && op->getNumResults())
            changed |= insert(style.getTiedOpResult(&operand));
        }
      return changed;
    };
    function.walk([&](KernelOpInterface op) {
      if (!isa<nn::AddOp, nn::PackOp, nn::UnpackOp>(op))
        insertAll(op);
    });
    bool changed = true;
    while (changed) {
      changed = false;
      function.walk([&](nn::AddOp add) {
        auto isActivation = [&](Value value) { return activations.contains(value); };
        if (llvm::any_of(add->getOperands(), isActivation) || llvm::any_of(add->getResults(), isActivation))
          changed |= insertAll(add);
      });
    }
  }

  /// Only ops with a KernelOpInterface know packed tiles, and a tile's size must be known.
  static LogicalResult checkActivation(Value value) {
    auto error = [&](Operation *op) {
      return op->emitError("smet-pack-tokens: '")
             << op->getName() << "' stands between packed activations and knows only [T, F]";
    };
    Operation *producer = value.getDefiningOp();
    if (!cast<RankedTensorType>(value.getType()).hasStaticShape())
      return emitError(value.getLoc(), "smet-pack-tokens: activations need a static shape, got ") << value.getType();
    if (!producer && !isa<func::FuncOp>(cast<BlockArgument>(value).getOwner()->getParentOp()))
      return error(cast<BlockArgument>(value).getOwner()->getParentOp());
    if (producer && !isa<KernelOpInterface>(producer) && !llvm::all_of(value.getUses(), isInit))
      return error(producer);
    for (Operation *user : value.getUsers())
      if (producer && !isa<KernelOpInterface, func::ReturnOp>(user))
        return error(user);
    return success();
  }

  RankedTensorType packedType(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t tokens = tensor.getDimSize(0), lanes = tokens >= tile ? tile : smallTile;
    auto tiles = static_cast<int64_t>(llvm::divideCeil(tokens, lanes));
    if (whole)
      return RankedTensorType::get({1, tensor.getDimSize(1), tiles * lanes}, tensor.getElementType());
    return RankedTensorType::get({tiles, tensor.getDimSize(1), lanes}, tensor.getElementType());
  }

  /// State (a KV cache) is stored packed; an input is packed on entry; a destination is handled at its op.
  void packArgument(func::FuncOp function, BlockArgument argument) {
    if (!activations.contains(argument))
      return;
    unsigned number = argument.getArgNumber();
    if (function.getArgAttr(number, names::role) == StringAttr::get(&getContext(), names::state))
      return argument.setType(packedType(argument.getType()));
    if (llvm::all_of(argument.getUses(), isInit))
      return;
    auto b = OpBuilder::atBlockBegin(argument.getOwner());
    auto pack = createWithEmptyInits<nn::PackOp>(b, argument.getLoc(), packedType(argument.getType()), argument);
    argument.replaceUsesWithIf(pack->getResult(0), [&](OpOperand &use) {
      return use.getOwner() != pack && isa<KernelOpInterface>(use.getOwner()) && !isInit(use);
    });
  }

  static bool isInit(OpOperand &use) {
    auto style = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
    return style && style.isDpsInit(&use);
  }

  /// Whether the op reads what its init held before.
  static bool readsInit(OpOperand &init) {
    if (auto spmm = dyn_cast<SpmmOp>(init.getOwner()))
      return spmm.getAccumulate();
    auto attention = dyn_cast<nn::CachedAttentionOp>(init.getOwner());
    return attention && init.get() != attention.getO();
  }

  /// Gives the token inits of an op their packed type. Where the init is a token-major argument, the result is unpacked
  /// into it and returned from there.
  void packOp(KernelOpInterface op) {
    auto style = cast<DestinationStyleOpInterface>(op.getOperation());
    if (isa<nn::PackOp, nn::UnpackOp>(op) || !op->getNumResults())
      return;
    for (OpOperand &init : style.getDpsInitsMutable()) {
      OpResult result = style.getTiedOpResult(&init);
      if (!activations.contains(result) || cast<RankedTensorType>(init.get().getType()).getRank() == 3) {
        result.setType(init.get().getType());
        continue;
      }
      OpBuilder b(op);
      Value destination = init.get();
      Type packed = packedType(destination.getType());
      Value start = emptyTensor(b, op->getLoc(), packed);
      if (readsInit(init))
        start = nn::PackOp::create(b, op->getLoc(), packed, {destination, start})->getResult(0);
      init.set(start);
      result.setType(packed);
      if (!isa<BlockArgument>(destination))
        continue;
      b.setInsertionPointAfter(op);
      auto unpack = nn::UnpackOp::create(b, op->getLoc(), destination.getType(), {result, destination});
      result.replaceUsesWithIf(unpack->getResult(0),
                               [](OpOperand &use) { return isa<func::ReturnOp>(use.getOwner()); });
    }
  }

  /// A returned activation without a named destination goes back to [T, F].
  void unpackResults(func::FuncOp function) {
    Operation *terminator = function.front().getTerminator();
    OpBuilder b(terminator);
    for (auto [operand, type] : llvm::zip(terminator->getOpOperands(), function.getResultTypes())) {
      Value value = operand.get();
      if (value.getType() == type || isState(function, value))
        continue;
      auto unpack = createWithEmptyInits<nn::UnpackOp>(b, terminator->getLoc(), type, value);
      operand.set(unpack->getResult(0));
    }
  }

  /// Whether the value is a state argument, updated or not.
  static bool isState(func::FuncOp function, Value value) {
    while (auto style = value.getDefiningOp<DestinationStyleOpInterface>())
      value = style.getTiedOpOperand(cast<OpResult>(value))->get();
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && function.getArgAttr(argument.getArgNumber(), names::role) ==
                           StringAttr::get(function.getContext(), names::state);
  }

  llvm::SetVector<Value> activations;
};

} // namespace
