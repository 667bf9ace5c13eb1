//===- EmulatedKernel.cpp - instructions of the GPU become calls ----------===//
#include "EmulatedKernel.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace smet;

static_assert(offsetof(smet_emulator, shared) == 48 && offsetof(smet_emulator, barrier) == 64);

/// Words of smet_emulator, counted from its start.
enum Word : int32_t { thread = 0, blockSize = 3, block = 6, gridSize = 9 };
static constexpr int32_t sharedPointer = offsetof(smet_emulator, shared) / sizeof(void *);
static constexpr int32_t firstFunction = offsetof(smet_emulator, barrier) / sizeof(void *);

EmulatedKernel::EmulatedKernel(LLVM::LLVMFuncOp kernel, const llvm::StringMap<int64_t> &sharedOffsets)
    : kernel(kernel), sharedOffsets(sharedOffsets), b(kernel.getContext()),
      pointer(LLVM::LLVMPointerType::get(kernel.getContext())) {
  kernel.walk([&](Operation *op) {
    if (isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::MemcpyOp, LLVM::MemsetOp, LLVM::MemmoveOp, LLVM::AtomicRMWOp,
            LLVM::AtomicCmpXchgOp, LLVM::MaskedLoadOp, LLVM::MaskedStoreOp, LLVM::masked_gather, LLVM::masked_scatter>(
            op))
      accesses.push_back(op);
  });
  // arguments[i] points at the value of argument i.
  Block &entry = kernel.getBody().front();
  Location loc = kernel.getLoc();
  b.setInsertionPointToStart(&entry);
  unsigned count = entry.getNumArguments();
  entry.addArgument(pointer, loc);
  Value array = entry.addArgument(pointer, loc);
  for (unsigned i = 0; i < count; ++i) {
    Value place = LLVM::GEPOp::create(b, loc, pointer, pointer, array, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value address = LLVM::LoadOp::create(b, loc, pointer, place);
    arguments.push_back(LLVM::LoadOp::create(b, loc, entry.getArgument(i).getType(), address));
    entry.getArgument(i).replaceAllUsesWith(arguments.back());
  }
  entry.eraseArguments(0, count);
  kernel.setType(LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer}));
  kernel.removeArgAttrsAttr();
}

LogicalResult EmulatedKernel::lowerInstructions() {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa<NVVM::NVVMDialect>(op->getDialect()) || isa<LLVM::AddressOfOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (failed(lower(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value EmulatedKernel::constant(Location loc, int64_t value, Type type) {
  return LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
}

/// A word of the emulator's head: it does not change while a thread runs.
Value EmulatedKernel::special(Location loc, int32_t index) {
  Value place =
      LLVM::GEPOp::create(b, loc, pointer, b.getI32Type(), kernel.getArgument(0), ArrayRef<LLVM::GEPArg>{index});
  return LLVM::LoadOp::create(b, loc, b.getI32Type(), place);
}

/// The thread's number in its warp.
Value EmulatedKernel::lane(Location loc) {
  auto times = [&](Value a, Value c) -> Value { return LLVM::MulOp::create(b, loc, a, c); };
  auto plus = [&](Value a, Value c) -> Value { return LLVM::AddOp::create(b, loc, a, c); };
  Value rows = plus(special(loc, thread + 1), times(special(loc, blockSize + 1), special(loc, thread + 2)));
  Value number = plus(special(loc, thread), times(special(loc, blockSize), rows));
  return LLVM::AndOp::create(b, loc, number, constant(loc, 31, b.getI32Type()));
}

/// The innermost place in a file, or what there is.
static std::string describe(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
    return WalkResult::interrupt();
  });
  if (auto name = dyn_cast<NameLoc>(loc); name && text.empty())
    text = name.getName().str();
  return text.empty() ? "unknown location" : text;
}

Value EmulatedKernel::site(Location loc) {
  std::string text = describe(loc);
  auto [place, isNew] = siteNumbers.try_emplace(text, static_cast<int32_t>(sites.size()));
  if (isNew)
    sites.push_back(text);
  return constant(loc, place->second, b.getI32Type());
}

Value EmulatedKernel::generic(Location loc, Value address) {
  return address.getType() == pointer ? address : LLVM::AddrSpaceCastOp::create(b, loc, pointer, address).getResult();
}

/// function(emulator, site, arguments...). No other threads' code may be moved across it, nor it into a branch.
Value EmulatedKernel::call(Location loc, smet_emulator_slot slot, Type result, ValueRange values) {
  Value place = LLVM::GEPOp::create(b, loc, pointer, pointer, kernel.getArgument(0),
                                    ArrayRef<LLVM::GEPArg>{firstFunction + static_cast<int32_t>(slot)});
  SmallVector<Value> operands{LLVM::LoadOp::create(b, loc, pointer, place), kernel.getArgument(0), site(loc)};
  llvm::append_range(operands, values);
  auto type = LLVM::LLVMFunctionType::get(result ? result : LLVM::LLVMVoidType::get(b.getContext()),
                                          llvm::to_vector(ValueRange(operands).drop_front().getTypes()));
  auto op = LLVM::CallOp::create(b, loc, type, operands);
  op.setConvergent(true);
  return result ? op.getResult() : Value();
}

Value EmulatedKernel::stackArray(Location loc, Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&kernel.getBody().front());
  return LLVM::AllocaOp::create(b, loc, pointer, element, constant(loc, count, b.getI64Type()), /*alignment=*/16);
}

Value EmulatedKernel::stackArray(Location loc, ValueRange values) {
  Type element = values[0].getType();
  Value array = stackArray(loc, element, values.size());
  for (auto [i, value] : llvm::enumerate(values))
    LLVM::StoreOp::create(
        b, loc, value,
        LLVM::GEPOp::create(b, loc, pointer, element, array, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)}));
  return array;
}

/// A struct of the array's elements, or its only one.
Value EmulatedKernel::packFrom(Location loc, Type type, Value array) {
  auto structure = dyn_cast<LLVM::LLVMStructType>(type);
  if (!structure)
    return LLVM::LoadOp::create(b, loc, type, array);
  Value packed = LLVM::PoisonOp::create(b, loc, type);
  for (auto [i, element] : llvm::enumerate(structure.getBody())) {
    Value place = LLVM::GEPOp::create(b, loc, pointer, element, array, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    packed = LLVM::InsertValueOp::create(b, loc, packed, LLVM::LoadOp::create(b, loc, element, place),
                                         ArrayRef<int64_t>{static_cast<int64_t>(i)});
  }
  return packed;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {
/// A special register's word in smet_emulator.
std::optional<int32_t> wordOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<int32_t>>(op)
      .Case<NVVM::ThreadIdXOp>([](auto) { return thread; })
      .Case<NVVM::ThreadIdYOp>([](auto) { return thread + 1; })
      .Case<NVVM::ThreadIdZOp>([](auto) { return thread + 2; })
      .Case<NVVM::BlockDimXOp>([](auto) { return blockSize; })
      .Case<NVVM::BlockDimYOp>([](auto) { return blockSize + 1; })
      .Case<NVVM::BlockDimZOp>([](auto) { return blockSize + 2; })
      .Case<NVVM::BlockIdXOp>([](auto) { return block; })
      .Case<NVVM::BlockIdYOp>([](auto) { return block + 1; })
      .Case<NVVM::BlockIdZOp>([](auto) { return block + 2; })
      .Case<NVVM::GridDimXOp>([](auto) { return gridSize; })
      .Case<NVVM::GridDimYOp>([](auto) { return gridSize + 1; })
      .Case<NVVM::GridDimZOp>([](auto) { return gridSize + 2; })
      .Default([](Operation *) { return std::nullopt; });
}

int32_t modeOf(NVVM::ShflKind kind) {
  switch (kind) {
  case NVVM::ShflKind::up:
    return SMET_SHUFFLE_UP;
  case NVVM::ShflKind::down:
    return SMET_SHUFFLE_DOWN;
  case NVVM::ShflKind::bfly:
    return SMET_SHUFFLE_XOR;
  case NVVM::ShflKind::idx:
    return SMET_SHUFFLE_INDEX;
  }
  llvm_unreachable("a kind of shuffle");
}
} // namespace

LogicalResult EmulatedKernel::lower(Operation *op) {
  b.setInsertionPoint(op);
  Location loc = op->getLoc();
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto number = [&](int64_t value) { return constant(loc, value, i32); };
  auto replace = [&](Value value) {
    if (value)
      op->replaceAllUsesWith(ValueRange(value));
    op->erase();
    return success();
  };
  if (auto word = wordOf(op))
    return replace(special(loc, *word));
  if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
    auto shared = sharedOffsets.find(address.getGlobalName());
    if (shared == sharedOffsets.end())
      return success(); // a constant of the host
    Value place =
        LLVM::GEPOp::create(b, loc, pointer, pointer, kernel.getArgument(0), ArrayRef<LLVM::GEPArg>{sharedPointer});
    Value base = LLVM::LoadOp::create(b, loc, address.getType(), place);
    return replace(LLVM::GEPOp::create(b, loc, address.getType(), b.getI8Type(), base,
                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(shared->second)}));
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<NVVM::LaneIdOp>([&](auto) { return replace(lane(loc)); })
      .Case<NVVM::Barrier0Op>([&](auto) {
        return replace(call(loc, SMET_EMULATOR_BARRIER, {}, {number(0), number(0)}));
      })
      .Case<NVVM::BarrierOp>([&](NVVM::BarrierOp barrier) -> LogicalResult {
        if (barrier.getReductionOp())
          return barrier.emitError("the emulator has no barrier with a reduction");
        Value id = barrier.getBarrierId(), count = barrier.getNumberOfThreads();
        return replace(call(loc, SMET_EMULATOR_BARRIER, {}, {id ? id : number(0), count ? count : number(0)}));
      })
      .Case<NVVM::SyncWarpOp>(
          [&](NVVM::SyncWarpOp sync) { return replace(call(loc, SMET_EMULATOR_WARP_SYNC, {}, {sync.getMask()})); })
      .Case<NVVM::ShflOp>([&](NVVM::ShflOp shuffle) {
        Type type = shuffle.getVal().getType();
        Value bits = LLVM::BitcastOp::create(b, loc, i32, shuffle.getVal());
        Value both = call(loc, SMET_EMULATOR_SHUFFLE, i64,
                          {number(modeOf(shuffle.getKind())), shuffle.getThreadMask(), bits, shuffle.getOffset(),
                           shuffle.getMaskAndClamp()});
        Value result = LLVM::BitcastOp::create(b, loc, type, LLVM::TruncOp::create(b, loc, i32, both));
        if (!shuffle.getReturnValueAndIsValid())
          return replace(result);
        Value high = LLVM::LShrOp::create(b, loc, both, constant(loc, 32, i64));
        Value valid = LLVM::TruncOp::create(b, loc, b.getI1Type(), high);
        Value packed = LLVM::PoisonOp::create(b, loc, shuffle.getType());
        packed = LLVM::InsertValueOp::create(b, loc, packed, result, ArrayRef<int64_t>{0});
        return replace(LLVM::InsertValueOp::create(b, loc, packed, valid, ArrayRef<int64_t>{1}));
      })
      .Case<NVVM::MmaOp>([&](NVVM::MmaOp mma) -> LogicalResult {
        auto shape = mma.getShape();
        if (shape.getM() != 16 || shape.getN() != 8 || shape.getK() != 16 ||
            mma.getMultiplicandAPtxType() != NVVM::MMATypes::bf16)
          return mma.emitError("of mma.sync, the emulator has m16n8k16 in bf16 only");
        Value d = stackArray(loc, b.getF32Type(), 4);
        call(loc, SMET_EMULATOR_MMA_M16N8K16_BF16, {},
             {stackArray(loc, mma.getOperandA()), stackArray(loc, mma.getOperandB()),
              stackArray(loc, mma.getOperandC()), d});
        return replace(packFrom(loc, mma.getType(), d));
      })
      .Case<NVVM::LdMatrixOp>([&](NVVM::LdMatrixOp load) -> LogicalResult {
        if (load.getShape().getM() != 8 || load.getShape().getN() != 8 ||
            load.getEltType() != NVVM::LdStMatrixEltType::B16)
          return load.emitError("of ldmatrix, the emulator has m8n8 in b16 only");
        Value words = stackArray(loc, i32, load.getNum());
        call(loc, SMET_EMULATOR_LDMATRIX, {},
             {number(load.getNum()), number(load.getLayout() == NVVM::MMALayout::col), generic(loc, load.getPtr()),
              words});
        return replace(packFrom(loc, load.getType(), words));
      })
      .Case<NVVM::CpAsyncOp>([&](NVVM::CpAsyncOp copy) {
        Value bytes = number(copy.getSize()), valid = copy.getCpSize() ? copy.getCpSize() : bytes;
        return replace(call(loc, SMET_EMULATOR_CP_ASYNC, {},
                            {generic(loc, copy.getDst()), generic(loc, copy.getSrc()), bytes, valid}));
      })
      .Case<NVVM::CpAsyncCommitGroupOp>([&](auto) { return replace(call(loc, SMET_EMULATOR_CP_ASYNC_COMMIT, {}, {})); })
      .Case<NVVM::CpAsyncWaitGroupOp>([&](NVVM::CpAsyncWaitGroupOp wait) {
        return replace(call(loc, SMET_EMULATOR_CP_ASYNC_WAIT, {}, {number(wait.getN())}));
      })
      .Default([](Operation *other) { return other->emitError("the emulator does not have this instruction"); });
}
