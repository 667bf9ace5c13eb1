//===- LowerEntryPoints.cpp - entry points become lists of calls ----------===//
#include "Context.h"
#include "smet/Conversion/Program.h"

#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

namespace smet {
#define GEN_PASS_DEF_LOWERENTRYPOINTSPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

std::optional<smet_slot> slotOf(StringRef routine) {
  return llvm::StringSwitch<std::optional<smet_slot>>(routine)
      .Case("topology_init", SMET_SLOT_TOPOLOGY_INIT)
      .Case("topology_from_mask", SMET_SLOT_TOPOLOGY_FROM_MASK)
      .Case("init_normal_sparse", SMET_SLOT_INIT_NORMAL_SPARSE)
      .Case("init_normal_dense", SMET_SLOT_INIT_NORMAL_DENSE)
      .Case("fill", SMET_SLOT_FILL)
      .Case("prune", SMET_SLOT_PRUNE)
      .Case("grow_random", SMET_SLOT_GROW_RANDOM)
      .Case("update_topology", SMET_SLOT_UPDATE_TOPOLOGY)
      .Case("remap", SMET_SLOT_REMAP)
      .Case("check_prune", SMET_SLOT_CHECK_PRUNE)
      .Default(std::nullopt);
}

/// Where an operand, of static shape, lies in the arena.
FailureOr<int64_t> offsetOf(Value operand) {
  while (auto cast = operand.getDefiningOp<memref::CastOp>())
    operand = cast.getSource();
  auto view = operand.getDefiningOp<memref::ViewOp>();
  APInt offset;
  if (!view || !view.getType().hasStaticShape() || !isa<BlockArgument>(view.getSource()) ||
      !matchPattern(view.getByteShift(), m_ConstantInt(&offset)))
    return failure();
  return offset.getSExtValue();
}

/// Emits one entry point.
class EntryPoint {
public:
  /// `onDevice`: the arena is not the host's memory.
  EntryPoint(ModuleOp module, func::FuncOp function, bool onDevice)
      : module(module), function(function), onDevice(onDevice), b(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {}

  LogicalResult lower() {
    if (!takesArena())
      return function.emitError("smet-lower-entry-points: expected a body of one block that takes the arena, a "
                                "memref<?xi8>, and returns nothing; run smet-plan-memory first");
    b.setInsertionPoint(function);
    auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, pointer});
    auto entry = LLVM::LLVMFuncOp::create(b, function.getLoc(), ("smet_" + function.getSymName()).str(), type);
    b.setInsertionPointToEnd(entry.addEntryBlock(b));
    context = entry.getArgument(0);
    arena = entry.getArgument(1);
    for (Operation &op : function.front())
      if (failed(lower(op)))
        return failure();
    trace(function.getLoc(), -1);
    returnStatus(function.getLoc(), SMET_OK);
    function.erase();
    return success();
  }

private:
  bool takesArena() {
    if (!function.getBody().hasOneBlock() || function.getNumArguments() != 1 || function.getNumResults())
      return false;
    auto arena = dyn_cast<MemRefType>(function.getArgumentTypes()[0]);
    return arena && arena.getRank() == 1 && arena.getElementType().isInteger(8) && arena.getLayout().isIdentity();
  }

  LogicalResult lower(Operation &op) {
    if (auto dispatch = dyn_cast<DispatchOp>(op))
      return lower(dispatch);
    if (auto routine = dyn_cast<RoutineOp>(op))
      return lower(routine);
    if (auto check = dyn_cast<CheckFiniteOp>(op))
      return lower(check);
    if (isa<memref::ViewOp, memref::CastOp, func::ReturnOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
      return success();
    return op.emitError("smet-lower-entry-points: '")
           << op.getName() << "' cannot stand in an entry point of a program; expected dispatches and routines";
  }

  LogicalResult lower(DispatchOp op) {
    auto kernel = module.lookupSymbol<ModuleOp>(op.getKernel().getRootReference());
    auto main = kernel ? kernel.lookupSymbol<func::FuncOp>(names::kernelMain) : nullptr;
    if (!main || op.getKernel().getLeafReference() != names::kernelMain ||
        !llvm::all_of(main.getArgumentTypes(), [](Type type) { return isa<MemRefType>(type) || type.isInteger(64); }))
      return op.emitError("smet-lower-entry-points: ") << op.getKernel()
                                                       << " is no func.func @main on memrefs and i64 in a kernel "
                                                          "module; kernels are lowered after their callers";
    // The op's verifier has compared the operands with main's arguments.
    SmallVector<int64_t> words;
    for (auto [operand, type] : llvm::zip_equal(op->getOperands(), main.getArgumentTypes())) {
      if (failed(appendPlace(op, operand, words)))
        return failure();
      auto wanted = dyn_cast<MemRefType>(type);
      for (int64_t dim = 0; wanted && dim < wanted.getRank(); ++dim)
        if (wanted.isDynamicDim(dim))
          words.push_back(cast<MemRefType>(operand.getType()).getDimSize(dim));
    }
    Location loc = op.getLoc();
    trace(loc, calls++);
    LLVM::CallOp::create(b, loc, kernelFunction(kernel), ValueRange{context, arena, table(loc, words)});
    return success();
  }

  LogicalResult lower(RoutineOp op) {
    auto slot = slotOf(op.getName());
    if (!slot)
      return op.emitError("smet-lower-entry-points: the runtime has no routine '") << op.getName() << "'";
    SmallVector<int64_t> words;
    for (Value operand : op->getOperands())
      if (failed(appendPlace(op, operand, words)))
        return failure();
    llvm::append_range(words, op.getWords());
    Location loc = op.getLoc();
    trace(loc, calls++);
    Value status =
        callThroughContext(b, loc, context, *slot, b.getI32Type(), {context, arena, table(loc, words)}).getResult();
    Value zero = LLVM::ConstantOp::create(b, loc, b.getI32Type(), 0);
    Value failed = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, status, zero);
    returnIf(loc, failed, SMET_ROUTINE_FAILED);
    return success();
  }

  /// x - x is 0 for finite x and NaN for the rest.
  LogicalResult lower(CheckFiniteOp op) {
    SmallVector<int64_t> place;
    if (failed(appendPlace(op, op.getValue(), place)))
      return failure();
    Location loc = op.getLoc();
    Type type = cast<MemRefType>(op.getValue().getType()).getElementType();
    Value bytes = LLVM::ConstantOp::create(b, loc, b.getI64Type(), place[0]);
    Value address = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), arena, ArrayRef<LLVM::GEPArg>{bytes});
    if (onDevice)
      address = copyToHost(loc, address, type);
    Value value = LLVM::LoadOp::create(b, loc, type, address);
    Value difference = LLVM::FSubOp::create(b, loc, value, value);
    Value bad = LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::uno, difference, difference);
    returnIf(loc, bad, SMET_LOSS_NOT_FINITE);
    return success();
  }

  /// Where a value of the arena lies on the host, once what was launched before is done.
  Value copyToHost(Location loc, Value address, Type type) {
    auto number = [&](int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64Type(), value); };
    Value host;
    {
      OpBuilder::InsertionGuard atTop(b);
      b.setInsertionPointToStart(&cast<LLVM::LLVMFuncOp>(b.getInsertionBlock()->getParentOp()).front());
      host = LLVM::AllocaOp::create(b, loc, pointer, type, number(1));
    }
    callThroughContext(b, loc, context, SMET_SLOT_READ, LLVM::LLVMVoidType::get(b.getContext()),
                       {context, host, address, number(type.getIntOrFloatBitWidth() / 8)});
    return host;
  }

  /// Where an array lies; a number as it is.
  LogicalResult appendPlace(Operation *op, Value operand, SmallVectorImpl<int64_t> &words) {
    APInt number;
    if (operand.getType().isInteger(64) && matchPattern(operand, m_ConstantInt(&number))) {
      words.push_back(number.getSExtValue());
      return success();
    }
    auto offset = offsetOf(operand);
    if (failed(offset))
      return op->emitError("smet-lower-entry-points: operand of type ")
             << operand.getType() << " is no view of the arena at a constant place";
    words.push_back(*offset);
    return success();
  }

  void trace(Location loc, int64_t call) {
    Value number = LLVM::ConstantOp::create(b, loc, b.getI64Type(), call);
    LLVM::CallOp::create(b, loc, traceFunction(), ValueRange{context, number});
  }

  /// void trace(context, call): calls the context's hook if there is one. A function, because there are a thousand
  /// calls in a step and their blocks would have to be compiled.
  LLVM::LLVMFuncOp traceFunction() {
    constexpr StringLiteral name = "trace";
    if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return existing;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    Location loc = function.getLoc();
    Type nothing = LLVM::LLVMVoidType::get(b.getContext());
    auto type = LLVM::LLVMFunctionType::get(nothing, {pointer, b.getI64Type()});
    auto trace = LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal);
    trace.setNoInline(true);
    Block *entry = trace.addEntryBlock(b), *call = trace.addBlock(), *end = trace.addBlock();
    b.setInsertionPointToEnd(entry);
    Value hook = loadSlot(b, loc, trace.getArgument(0), SMET_SLOT_TRACE);
    Value null = LLVM::ZeroOp::create(b, loc, pointer);
    Value present = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, hook, null);
    LLVM::CondBrOp::create(b, loc, present, call, end);
    b.setInsertionPointToEnd(call);
    LLVM::CallOp::create(b, loc, type, ValueRange{hook, trace.getArgument(0), trace.getArgument(1)});
    LLVM::BrOp::create(b, loc, end);
    b.setInsertionPointToEnd(end);
    LLVM::ReturnOp::create(b, loc, ValueRange{});
    return trace;
  }

  /// The kernel's function, declared here: it is compiled on its own.
  LLVM::LLVMFuncOp kernelFunction(ModuleOp kernel) {
    std::string name = kernelSymbol(kernel);
    if (auto declaration = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return declaration;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer, pointer});
    return LLVM::LLVMFuncOp::create(b, kernel.getLoc(), name, type);
  }

  /// Constant data of the program.
  Value table(Location loc, ArrayRef<int64_t> words) {
    LLVM::GlobalOp global;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto type = LLVM::LLVMArrayType::get(b.getI64Type(), words.size());
      std::string name = ("table_" + function.getSymName() + "_" + Twine(tables++)).str();
      global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                      b.getI64TensorAttr(words));
    }
    return LLVM::AddressOfOp::create(b, loc, global);
  }

  void returnIf(Location loc, Value condition, smet_status status) {
    Region *body = b.getInsertionBlock()->getParent();
    Block *exit = new Block, *next = new Block;
    body->push_back(exit);
    body->push_back(next);
    LLVM::CondBrOp::create(b, loc, condition, exit, next);
    b.setInsertionPointToEnd(exit);
    returnStatus(loc, status);
    b.setInsertionPointToEnd(next);
  }

  void returnStatus(Location loc, smet_status status) {
    Value value = LLVM::ConstantOp::create(b, loc, b.getI32Type(), static_cast<int64_t>(status));
    LLVM::ReturnOp::create(b, loc, value);
  }

  ModuleOp module;
  func::FuncOp function;
  bool onDevice;
  OpBuilder b;
  Type pointer;
  Value context, arena;
  int64_t tables = 0, calls = 0;
};

struct LowerEntryPointsPass : smet::impl::LowerEntryPointsPassBase<LowerEntryPointsPass> {
  using Base::Base;

  void runOnOperation() final {
    ModuleOp module = getOperation();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (failed(EntryPoint(module, function, onDevice).lower()))
        return signalPassFailure();
  }
};

} // namespace
