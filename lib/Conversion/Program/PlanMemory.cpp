//===- PlanMemory.cpp - every buffer gets its place in the arena ----------===//
#include "smet/Conversion/Program.h"

#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"
#include "smet/Interfaces/Work.h"

#include "runtime/program/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace smet {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

int64_t alignUp(int64_t bytes) { return llvm::alignTo(bytes, SMET_ALIGNMENT); }

/// Whether a view of the arena can be of this type.
bool fitsArena(MemRefType type) {
  // Far from the end of 64 bits, so that sums of sizes stay below it.
  return type.getLayout().isIdentity() && !type.getMemorySpace() && bytesOf(type).value_or(INT64_MAX) < INT64_MAX >> 16;
}

/// Element types of the manifest (runtime/program/Manifest.h).
bool isManifestType(Type element) {
  return element.isF32() || element.isF64() || element.isBF16() || element.isSignlessInteger(8) ||
         element.isSignlessInteger(16) || element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

std::string dtypeOf(Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text; // f32, bf16, i16 ...: MLIR's names are the manifest's
}

//===----------------------------------------------------------------------===//
// Workspace: offsets by liveness
//===----------------------------------------------------------------------===//

/// An allocation of one entry point; it lives from operation `first` to operation `last` of the block.
struct Allocation {
  memref::AllocOp op;
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
  int64_t offset = 0;

  bool overlapsInTime(const Allocation &other) const { return first <= other.last && other.first <= last; }
};

/// Extends a lifetime over the uses of a buffer and of the views on it. Nothing else may pass the buffer on: its last
/// use would not be known.
LogicalResult visitUses(Value buffer, Block &block, const DenseMap<Operation *, int64_t> &order,
                        Allocation &allocation) {
  for (Operation *user : buffer.getUsers()) {
    int64_t when = order.lookup(block.findAncestorOpInBlock(*user));
    allocation.first = std::min(allocation.first, when);
    allocation.last = std::max(allocation.last, when);
    if (isa<ViewLikeOpInterface>(user)) {
      if (failed(visitUses(user->getResult(0), block, order, allocation)))
        return failure();
    } else if (user->hasTrait<OpTrait::IsTerminator>() ||
               llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>)) {
      return user->emitError("smet-plan-memory: '") << user->getName() << "' passes a buffer on; only views may";
    }
  }
  return success();
}

FailureOr<SmallVector<Allocation>> findAllocations(func::FuncOp entry) {
  Block &block = entry.front();
  DenseMap<Operation *, int64_t> order;
  for (auto [i, op] : llvm::enumerate(block))
    order[&op] = i;
  SmallVector<Allocation> allocations;
  auto checked = entry.walk([&](memref::AllocOp op) -> WalkResult {
    if (op->getBlock() != &block || !fitsArena(op.getType()))
      return op.emitError(
                 "smet-plan-memory: a buffer must be a contiguous array of numbers of static size, allocated at "
                 "the top of its entry point, got ")
             << op.getType();
    Allocation allocation{op, 0, std::numeric_limits<int64_t>::max(), 0, 0};
    allocation.bytes = alignUp(*bytesOf(op.getType()));
    if (!op->use_empty())
      allocations.push_back(allocation);
    return op->use_empty() ? success() : visitUses(op, block, order, allocations.back());
  });
  if (checked.wasInterrupted())
    return failure();
  return allocations;
}

/// Larger ones first, each at the lowest offset that is free while it lives. Returns the workspace's size.
int64_t placeAllocations(MutableArrayRef<Allocation> allocations) {
  SmallVector<Allocation *> bySize;
  for (Allocation &allocation : allocations)
    bySize.push_back(&allocation);
  llvm::stable_sort(bySize, [](Allocation *a, Allocation *b) { return a->bytes > b->bytes; });
  SmallVector<Allocation *> placed; // by offset
  int64_t size = 0;
  for (Allocation *allocation : bySize) {
    int64_t offset = 0;
    for (Allocation *other : placed)
      if (other->overlapsInTime(*allocation) && other->offset < offset + allocation->bytes)
        offset = std::max(offset, other->offset + other->bytes);
    allocation->offset = offset;
    placed.insert(
        llvm::upper_bound(placed, allocation, [](Allocation *a, Allocation *b) { return a->offset < b->offset; }),
        allocation);
    size = std::max(size, offset + allocation->bytes);
  }
  return size;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct Tensor {
  std::string role;
  MemRefType type;
  int64_t offset;
};

struct PlanMemoryPass : smet::impl::PlanMemoryPassBase<PlanMemoryPass> {
  void runOnOperation() final {
    tensors.clear();
    gradients.clear();
    SmallVector<func::FuncOp> entries(getOperation().getOps<func::FuncOp>());
    int64_t persistent = 0;
    for (func::FuncOp entry : entries)
      if (failed(placeArguments(entry, persistent)))
        return signalPassFailure();

    SmallVector<SmallVector<Allocation>> allocations;
    int64_t workspace = 0;
    for (func::FuncOp entry : entries) {
      auto found = findAllocations(entry);
      if (failed(found))
        return signalPassFailure();
      allocations.push_back(std::move(*found));
      workspace = std::max(workspace, placeAllocations(allocations.back()));
    }
    // An arena has at least one line, so that empty programs have one too.
    int64_t total = std::max<int64_t>(persistent + workspace, SMET_ALIGNMENT);
    for (auto [entry, list] : llvm::zip(entries, allocations)) {
      nameGradients(entry, list, persistent);
      rewrite(entry, list, persistent, total);
    }
    writeManifest(entries, persistent, workspace, total);
  }

private:
  LogicalResult placeArguments(func::FuncOp entry, int64_t &end) {
    if (entry.isExternal() || !entry.getBody().hasOneBlock() || entry.getNumResults())
      return entry.emitError("smet-plan-memory: expected an entry point of one block without results; "
                             "smet-verify-contract drops those that are arguments");
    for (BlockArgument argument : entry.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto name = entry.getArgAttrOfType<StringAttr>(number, names::name);
      auto role = entry.getArgAttrOfType<StringAttr>(number, names::role);
      auto type = dyn_cast<MemRefType>(argument.getType());
      if (!name || !role || !type || !fitsArena(type) || !isManifestType(type.getElementType()))
        return entry.emitError("smet-plan-memory: argument #")
               << number << " needs smet.name, smet.role and a contiguous memref of static size of a type that the "
               << "manifest knows, got " << argument.getType();
      auto [tensor, isNew] = tensors.insert({name.str(), Tensor{role.str(), type, end}});
      if (isNew)
        end += alignUp(*bytesOf(type));
      else if (tensor->second.type != type)
        return entry.emitError("smet-plan-memory: '") << name.getValue() << "' has type " << type << " here and "
                                                      << tensor->second.type << " in another entry point";
    }
    return success();
  }

  /// An allocation that an optimizer step reads as its gradient carries the parameter's name.
  void nameGradients(func::FuncOp entry, ArrayRef<Allocation> allocations, int64_t base) {
    DenseMap<Value, const Allocation *> byValue;
    for (const Allocation &allocation : allocations)
      byValue[memref::AllocOp(allocation.op).getResult()] = &allocation;
    entry.walk([&](DispatchOp op) {
      if (!op.getKernel().getRootReference().getValue().contains("adam_step") || op.getInits().empty())
        return;
      auto parameter = dyn_cast<BlockArgument>(op.getInits()[0]);
      for (Value input : op.getInputs())
        if (const Allocation *allocation = byValue.lookup(input); allocation && parameter) {
          auto name = entry.getArgAttrOfType<StringAttr>(parameter.getArgNumber(), names::name);
          gradients.insert({name.str() + ".grad", Tensor{names::workspace.str(), cast<MemRefType>(input.getType()),
                                                         base + allocation->offset}});
        }
    });
  }

  void rewrite(func::FuncOp entry, ArrayRef<Allocation> allocations, int64_t workspace, int64_t total) {
    MLIRContext *context = &getContext();
    auto arenaType = MemRefType::get({total}, IntegerType::get(context, 8));
    Block &block = entry.front();
    Value arena = block.addArgument(arenaType, entry.getLoc());
    auto b = OpBuilder::atBlockBegin(&block);
    auto view = [&](Location loc, int64_t offset, MemRefType type) -> Value {
      Value start = arith::ConstantIndexOp::create(b, loc, offset);
      return memref::ViewOp::create(b, loc, type, arena, start, ValueRange{});
    };
    unsigned count = entry.getNumArguments();
    for (unsigned i = 0; i < count; ++i) {
      const Tensor &tensor = tensors.find(entry.getArgAttrOfType<StringAttr>(i, names::name).str())->second;
      block.getArgument(i).replaceAllUsesWith(view(entry.getLoc(), tensor.offset, tensor.type));
    }
    for (const Allocation &allocation : allocations) {
      memref::AllocOp op = allocation.op;
      op.replaceAllUsesWith(view(op.getLoc(), workspace + allocation.offset, op.getType()));
    }
    // Nothing is freed: the places are planned.
    entry.walk([](memref::DeallocOp op) { op.erase(); });
    for (auto op : llvm::make_early_inc_range(block.getOps<memref::AllocOp>()))
      op.erase();
    block.eraseArguments(0, count);
    entry.removeArgAttrsAttr();
    entry.setType(FunctionType::get(context, arenaType, {}));
  }

  void writeManifest(ArrayRef<func::FuncOp> entries, int64_t persistent, int64_t workspace, int64_t total) {
    namespace json = llvm::json;
    json::Array list, names;
    auto add = [&](StringRef name, StringRef role, StringRef dtype, ArrayRef<int64_t> shape, int64_t offset,
                   int64_t bytes) {
      list.push_back(json::Object{{"name", name.str()},
                                  {"role", role.str()},
                                  {"dtype", dtype.str()},
                                  {"shape", json::Array(shape)},
                                  {"offset", offset},
                                  {"bytes", bytes}});
    };
    auto addTensor = [&](StringRef name, const Tensor &tensor) {
      add(name, tensor.role, dtypeOf(tensor.type.getElementType()), tensor.type.getShape(), tensor.offset,
          *bytesOf(tensor.type));
    };
    for (auto &[name, tensor] : tensors)
      addTensor(name, tensor);
    for (auto &[name, tensor] : gradients)
      addTensor(name, tensor);
    if (workspace)
      add("workspace", names::workspace, "i8", {workspace}, persistent, workspace);
    for (func::FuncOp entry : entries)
      names.push_back(entry.getSymName().str());

    json::Object calls;
    for (func::FuncOp entry : entries)
      calls[entry.getSymName()] = callsOf(entry);

    json::Object manifest{{"abi", SMET_ABI_VERSION},
                          {"arena_bytes", total},
                          {"entry_points", std::move(names)},
                          {"calls", std::move(calls)},
                          {"tensors", std::move(list)},
                          {"layers", attribute(names::layers, "[]")},
                          {"config", attribute(names::config, "{}")}};
    if (json::Object *config = manifest.getObject("config"))
      for (StringRef key : {"kind", "target"})
        manifest[key] = config->getString(key).value_or("").str();
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(std::move(manifest));
    getOperation()->setAttr(names::manifest, StringAttr::get(&getContext(), text));
  }

  /// What smet-lower-entry-points makes calls of, in the order of its traces.
  static llvm::json::Array callsOf(func::FuncOp entry) {
    llvm::json::Array calls;
    auto add = [&](StringRef callee, StringRef op, int64_t flops, int64_t bytes, int64_t cacheBytes) {
      calls.push_back(llvm::json::Object{{"callee", callee},
                                         {"op", op},
                                         {"flops", flops},
                                         {"bytes", bytes},
                                         {"cache_bytes", cacheBytes ? cacheBytes : bytes}});
    };
    for (Operation &op : entry.front())
      if (auto dispatch = dyn_cast<DispatchOp>(op)) {
        StringRef kernel = dispatch.getKernel().getRootReference();
        if (WorkAttr work = dispatch.getWorkAttr())
          add(kernel, work.getOp(), work.getFlops(), work.getBytes(), work.getCacheBytes());
        else
          add(kernel, kernel, 0, 0, 0);
      } else if (auto routine = dyn_cast<RoutineOp>(op)) {
        add(routine.getName(), routine.getName(), 0, bytesOf(routine->getOperands()), 0);
      }
    return calls;
  }

  /// JSON that an earlier stage left on the module.
  llvm::json::Value attribute(StringRef name, StringRef fallback) {
    auto text = getOperation()->getAttrOfType<StringAttr>(name);
    auto value = llvm::json::parse(text ? text.getValue() : fallback);
    if (!value) {
      getOperation()->emitError("smet-plan-memory: ") << name << " is not JSON: " << llvm::toString(value.takeError());
      signalPassFailure();
      return nullptr;
    }
    return std::move(*value);
  }

  llvm::MapVector<std::string, Tensor, std::map<std::string, unsigned>> tensors, gradients;
};

} // namespace
