//===- Instrument.cpp - loads, stores and operations announce themselves --===//
#include "EmulatedKernel.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace smet;

LogicalResult EmulatedKernel::instrument() {
  for (Operation *op : accesses) {
    LogicalResult done =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case<LLVM::LoadOp>(
                [&](LLVM::LoadOp load) { return announce(op, load.getAddr(), load.getType(), SMET_ACCESS_LOAD); })
            .Case<LLVM::StoreOp>([&](LLVM::StoreOp store) {
              return announce(op, store.getAddr(), store.getValue().getType(), SMET_ACCESS_STORE);
            })
            .Default([](Operation *other) { return other->emitError("the emulator cannot check this access"); });
    if (failed(done))
      return failure();
  }
  for (Block &block : kernel.getBody())
    countOperations(block);
  return success();
}

/// What an address is computed from.
static Value rootOf(Value address) {
  while (Operation *op = address.getDefiningOp()) {
    if (!isa<LLVM::GEPOp, LLVM::AddrSpaceCastOp, LLVM::BitcastOp>(op))
      break;
    address = op->getOperand(0);
  }
  return address;
}

LogicalResult EmulatedKernel::announce(Operation *op, Value address, Type type, smet_access_kind kind) {
  if (rootOf(address).getDefiningOp<LLVM::AllocaOp>())
    return success(); // the thread's own
  b.setInsertionPoint(op);
  Location loc = op->getLoc();
  Type i32 = b.getI32Type();
  auto bytes = static_cast<int64_t>(DataLayout::closest(op).getTypeSize(type));
  call(loc, SMET_EMULATOR_ACCESS, {},
       {generic(loc, address), constant(loc, bytes, i32), constant(loc, kind, i32),
        constant(loc, argumentOf(address), i32)});
  return success();
}

/// The argument that an address is computed from, -1 where that is not plain to see.
int32_t EmulatedKernel::argumentOf(Value address) const {
  const auto *place = llvm::find(arguments, rootOf(address));
  return place == arguments.end() ? -1 : static_cast<int32_t>(place - arguments.begin());
}

static int64_t lanesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

/// Floating-point operations of an instruction on one lane, a multiply-add as two.
static int64_t operationsOf(Operation &op) {
  if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return intrinsic.getIntrin() == "llvm.fma" ? 2 : intrinsic.getIntrin() == "llvm.sqrt" ? 1 : 0;
  if (isa<LLVM::FMAOp, LLVM::FMulAddOp>(op))
    return 2;
  return isa<LLVM::FAddOp, LLVM::FSubOp, LLVM::FMulOp, LLVM::FDivOp, LLVM::SqrtOp, LLVM::MaxNumOp, LLVM::MinNumOp,
             LLVM::MaximumOp, LLVM::MinimumOp>(op);
}

/// Those of a block are added when it is left.
void EmulatedKernel::countOperations(Block &block) {
  int64_t count = 0;
  for (Operation &op : block)
    if (op.getNumResults() == 1 && isa<FloatType>(getElementTypeOrSelf(op.getResult(0).getType())))
      count += operationsOf(op) * lanesOf(op.getResult(0).getType());
  if (!count)
    return;
  Location loc = block.getTerminator()->getLoc();
  b.setInsertionPoint(block.getTerminator());
  Type i64 = b.getI64Type();
  Value place = LLVM::GEPOp::create(b, loc, pointer, i64, kernel.getArgument(0),
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offsetof(smet_emulator, flops) / 8)});
  Value sum = LLVM::AddOp::create(b, loc, LLVM::LoadOp::create(b, loc, i64, place), constant(loc, count, i64));
  LLVM::StoreOp::create(b, loc, sum, place);
}
