//===- Schedule.cpp - writes of state move behind reads of its old value --===//
#include "smet/Transforms/Passes.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace smet {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

using OpSet = llvm::SmallPtrSet<Operation *, 8>;

bool dependsOn(Operation *op, const OpSet &ops) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return llvm::any_of(used, [&](Value v) { return v.getDefiningOp() && ops.contains(v.getDefiningOp()); });
}

/// On memrefs an op behind the writer reads the new value: nothing may move there.
bool isState(Value init) { return isa<BlockArgument>(init) && isa<TensorType>(init.getType()); }

/// The last op behind `writer` that uses the old value of a state array that `writer` updates.
Operation *lastReader(DestinationStyleOpInterface writer) {
  Operation *last = nullptr;
  for (Value init : writer.getDpsInits()) {
    if (!isState(init))
      continue;
    for (Operation *user : init.getUsers()) {
      Operation *reader = writer->getBlock()->findAncestorOpInBlock(*user);
      if (reader && reader != writer && writer->isBeforeInBlock(reader) && (!last || last->isBeforeInBlock(reader)))
        last = reader;
    }
  }
  return last;
}

struct SchedulePass : smet::impl::SchedulePassBase<SchedulePass> {
  void runOnOperation() final {
    for (Block &block : getOperation().getBody()) {
      SmallVector<DestinationStyleOpInterface> writers;
      for (auto op : block.getOps<DestinationStyleOpInterface>())
        if (llvm::any_of(op.getDpsInits(), isState))
          writers.push_back(op);
      for (DestinationStyleOpInterface writer : writers)
        if (failed(moveBehindReaders(writer)))
          return signalPassFailure();
    }
  }

  static LogicalResult moveBehindReaders(DestinationStyleOpInterface writer) {
    Operation *last = lastReader(writer);
    if (!last)
      return success();
    // What depends on the writer moves along.
    OpSet dependent{writer};
    SmallVector<Operation *> chain{writer};
    for (Operation *op = writer->getNextNode(); op != last->getNextNode(); op = op->getNextNode())
      if (dependsOn(op, dependent) && dependent.insert(op).second)
        chain.push_back(op);
    if (dependent.contains(last)) {
      auto error = writer->emitError(
          "state is read by an op that also needs its updated value; only a copy of the state could serve it");
      error.attachNote(last->getLoc()) << "the reader";
      return failure();
    }
    for (Operation *op : chain) {
      op->moveAfter(last);
      last = op;
    }
    return success();
  }
};

} // namespace
