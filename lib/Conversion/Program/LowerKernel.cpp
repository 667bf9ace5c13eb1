//===- LowerKernel.cpp - kernels take (context, arena, table) -------------===//
#include "Context.h"
#include "smet/Conversion/KernelDescription.h"
#include "smet/Conversion/Program.h"

#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace smet {
#define GEN_PASS_DEF_LOWERKERNELPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

/// A value of the LLVM dialect seen as the type that it stands for, or back; conversion to LLVM folds these away.
Value castTo(OpBuilder &b, Location loc, Type type, Value value) {
  if (value.getType() == type)
    return value;
  return UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
}

class KernelLowering {
public:
  explicit KernelLowering(ModuleOp kernel)
      : kernel(kernel), b(kernel.getContext()), converter(kernel.getContext()),
        pointer(LLVM::LLVMPointerType::get(kernel.getContext())) {}

  LogicalResult run() {
    auto main = kernel.lookupSymbol<func::FuncOp>(names::kernelMain);
    if (!kernel.getSymName() || !main || main.getNumResults() || !main.getBody().hasOneBlock())
      return kernel.emitError(
          "smet-lower-kernel: expected a named module with a function @main of one block on memrefs "
          "without results");
    if (failed(lowerMain(main)))
      return failure();
    SmallVector<scf::ParallelOp> loops;
    entry.walk([&](scf::ParallelOp op) { loops.push_back(op); });
    for (scf::ParallelOp op : loops)
      if (failed(lowerParallel(op)))
        return failure();
    auto lowered = kernel.walk([&](Operation *op) {
      if (auto gemm = dyn_cast<GemmOp>(op))
        return WalkResult(lowerGemm(gemm));
      if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
        return WalkResult(lowerLaunch(launch));
      return WalkResult::advance();
    });
    return success(!lowered.wasInterrupted());
  }

private:
  /// Builds the arguments of main from the table and moves its body behind them.
  LogicalResult lowerMain(func::FuncOp main) {
    Location loc = main.getLoc();
    b.setInsertionPoint(main);
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer, pointer});
    entry = LLVM::LLVMFuncOp::create(b, loc, kernelSymbol(kernel), type);
    Block *body = entry.addEntryBlock(b);
    b.setInsertionPointToEnd(body);
    int32_t word = 0;
    SmallVector<Value> arguments;
    for (Type argument : main.getArgumentTypes()) {
      if (argument.isInteger(64)) {
        arguments.push_back(loadWord(loc, word++));
        continue;
      }
      auto memref = dyn_cast<MemRefType>(argument);
      if (!memref || !memref.getLayout().isIdentity() || memref.getMemorySpace() || !converter.convertType(memref) ||
          llvm::any_of(memref.getShape().drop_front(memref.getRank() ? 1 : 0), ShapedType::isDynamic))
        return main.emitError("smet-lower-kernel: arguments must be i64 or contiguous memrefs with static inner sizes, got ")
               << argument;
      arguments.push_back(buildMemRef(loc, memref, word));
    }
    Operation *terminator = main.front().getTerminator();
    b.setInsertionPoint(terminator);
    LLVM::ReturnOp::create(b, loc, ValueRange{});
    terminator->erase();
    for (auto [argument, value] : llvm::zip(main.getArguments(), arguments))
      argument.replaceAllUsesWith(value);
    body->getOperations().splice(body->end(), main.front().getOperations());
    main.erase();
    return success();
  }

  Value loadWord(Location loc, int32_t word) {
    Value address =
        LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), entry.getArgument(2), ArrayRef<LLVM::GEPArg>{word});
    return LLVM::LoadOp::create(b, loc, b.getI64Type(), address);
  }

  /// arena + table[word], then the dynamic leading size if there is one.
  Value buildMemRef(Location loc, MemRefType type, int32_t &word) {
    Value offset = loadWord(loc, word++);
    Value address =
        LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), entry.getArgument(1), ArrayRef<LLVM::GEPArg>{offset});
    auto descriptor = MemRefDescriptor::poison(b, loc, converter.convertType(type));
    descriptor.setAllocatedPtr(b, loc, address);
    descriptor.setAlignedPtr(b, loc, address);
    descriptor.setOffset(b, loc, constant(loc, 0));
    int64_t stride = 1;
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      Value size = type.isDynamicDim(dim) ? loadWord(loc, word++) : constant(loc, type.getDimSize(dim));
      descriptor.setSize(b, loc, dim, size);
      descriptor.setStride(b, loc, dim, constant(loc, stride));
      stride *= type.isDynamicDim(dim) ? 1 : type.getDimSize(dim);
    }
    return castTo(b, loc, type, descriptor);
  }

  LogicalResult lowerParallel(scf::ParallelOp op) {
    if (op.getNumLoops() != 1 || op.getNumResults() || op->getParentOfType<scf::ParallelOp>())
      return op.emitError("smet-lower-kernel: parallel loops must have one dimension, no reduction and not be nested");
    Location loc = op.getLoc();
    SmallVector<Value> captured = captures(op);
    for (Value value : captured)
      if (!converter.convertType(value.getType()))
        return op.emitError("smet-lower-kernel: a parallel loop cannot use a value of type ") << value.getType();
    LLVM::LLVMFuncOp body = outlineBody(op, captured);

    // In the entry: store the environment, call parallel_for.
    b.setInsertionPoint(op);
    Value environment = storeEnvironment(loc, captured);
    Value n = arith::SubIOp::create(b, loc, op.getUpperBound()[0], op.getLowerBound()[0]);
    n = i64(loc, arith::CeilDivUIOp::create(b, loc, n, op.getStep()[0]));
    Value context = entry.getArgument(0), function = LLVM::AddressOfOp::create(b, loc, body);
    callThroughContext(b, loc, context, SMET_SLOT_PARALLEL_FOR, LLVM::LLVMVoidType::get(b.getContext()),
                       {context, function, environment, n});
    op.erase();
    return success();
  }

  /// What the loop uses from outside, besides constants: first the context, then its bounds, then the rest.
  SmallVector<Value> captures(scf::ParallelOp op) {
    // A constant is cheaper to have again than to carry.
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(op.getRegion(), used);
    b.setInsertionPointToStart(op.getBody());
    llvm::SetVector<Value> captured;
    captured.insert(entry.getArgument(0));
    captured.insert(op.getLowerBound()[0]);
    captured.insert(op.getStep()[0]);
    for (Value value : used) {
      Operation *constant = value.getDefiningOp();
      if (!constant || !(constant->hasTrait<OpTrait::ConstantLike>() || isa<memref::GetGlobalOp>(constant))) {
        captured.insert(value);
        continue;
      }
      Value clone = b.clone(*constant)->getResult(0);
      replaceAllUsesInRegionWith(value, clone, op.getRegion());
    }
    return captured.takeVector();
  }

  LLVM::LLVMStructType environmentType(ArrayRef<Value> captured) {
    SmallVector<Type> types;
    for (Value value : captured)
      types.push_back(converter.convertType(value.getType()));
    return LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  }

  Value field(Location loc, LLVM::LLVMStructType type, Value environment, int32_t index) {
    return LLVM::GEPOp::create(b, loc, pointer, type, environment, ArrayRef<LLVM::GEPArg>{0, index});
  }

  Value storeEnvironment(Location loc, ArrayRef<Value> captured) {
    auto type = environmentType(captured);
    Value environment = onStack(loc, type);
    for (auto [i, value] : llvm::enumerate(captured))
      LLVM::StoreOp::create(b, loc, castTo(b, loc, type.getBody()[i], value), field(loc, type, environment, i));
    return environment;
  }

  /// void body(environment, begin, end): the loop over [begin, end) of the iterations.
  LLVM::LLVMFuncOp outlineBody(scf::ParallelOp op, ArrayRef<Value> captured) {
    Location loc = op.getLoc();
    b.setInsertionPoint(entry);
    Type i64 = b.getI64Type(), index = b.getIndexType();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
    std::string name = kernel.getSymName()->str() + ".body" + std::to_string(bodyFunctions.size());
    auto function = LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal);
    Block *block = function.addEntryBlock(b);
    b.setInsertionPointToEnd(block);
    auto environment = environmentType(captured);
    SmallVector<Value> values;
    for (auto [i, value] : llvm::enumerate(captured)) {
      Value loaded =
          LLVM::LoadOp::create(b, loc, environment.getBody()[i], field(loc, environment, function.getArgument(0), i));
      values.push_back(castTo(b, loc, value.getType(), loaded));
    }
    Value begin = castTo(b, loc, index, function.getArgument(1)), end = castTo(b, loc, index, function.getArgument(2));
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    auto loop = scf::ForOp::create(b, loc, begin, end, one);
    LLVM::ReturnOp::create(b, loc, ValueRange{});

    b.setInsertionPointToStart(loop.getBody());
    Value scaled = arith::MulIOp::create(b, loc, loop.getInductionVar(), values[2]);
    Value iteration = arith::AddIOp::create(b, loc, values[1], scaled);
    op.getInductionVars()[0].replaceAllUsesWith(iteration);
    Block *source = op.getBody();
    source->getTerminator()->erase();
    loop.getBody()->getOperations().splice(loop.getBody()->getTerminator()->getIterator(), source->getOperations());
    for (auto [value, loaded] : llvm::zip(captured, values))
      replaceAllUsesInRegionWith(value, loaded, function.getBody());
    hoistStackScratch(loop, block);
    bodyFunctions.insert(function);
    return function;
  }

  /// Stack scratch is taken once a call, not once an iteration.
  static void hoistStackScratch(scf::ForOp loop, Block *block) {
    SmallVector<memref::AllocaOp> scratch;
    loop.walk([&](memref::AllocaOp op) {
      if (op->getNumOperands() == 0)
        scratch.push_back(op);
    });
    for (memref::AllocaOp op : scratch)
      op->moveBefore(&block->front());
  }

  LogicalResult lowerGemm(GemmOp op) {
    Location loc = op.getLoc();
    b.setInsertionPoint(op);
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    if (function != entry && !bodyFunctions.contains(function))
      return op.emitError("smet-lower-kernel: only @main of a kernel knows the runtime's context");
    // The context: an argument of the entry, the first field of a body's environment.
    Value context = function.getArgument(0);
    if (function != entry)
      context = LLVM::LoadOp::create(b, loc, pointer, context);
    struct Matrix {
      Value data, rows, columns, stride;
    };
    auto matrix = [&](Value value) {
      auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, value);
      auto type = cast<MemRefType>(value.getType());
      Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, value);
      Value width = arith::ConstantIndexOp::create(b, loc, type.getElementTypeBitWidth() / 8);
      Value bytes = arith::MulIOp::create(b, loc, metadata.getOffset(), width);
      Value address = i64(loc, arith::AddIOp::create(b, loc, base, bytes));
      return Matrix{LLVM::IntToPtrOp::create(b, loc, pointer, address), i64(loc, metadata.getSizes()[0]),
                    i64(loc, metadata.getSizes()[1]), i64(loc, metadata.getStrides()[0])};
    };
    Matrix a = matrix(op.getA()), right = matrix(op.getB()), c = matrix(op.getC());
    auto real = [&](const APFloat &value) -> Value {
      return LLVM::ConstantOp::create(b, loc, b.getF32Type(), b.getF32FloatAttr(value.convertToFloat()));
    };
    callThroughContext(b, loc, context, SMET_SLOT_SGEMM, LLVM::LLVMVoidType::get(b.getContext()),
                       {constant(loc, op.getTransposeA()), constant(loc, op.getTransposeB()), c.rows, c.columns,
                        op.getTransposeA() ? a.rows : a.columns, real(op.getAlpha()), a.data, a.stride, right.data,
                        right.stride, real(op.getBeta()), c.data, c.stride});
    op.erase();
    return success();
  }

  //===--- launches ---===//

  /// context->launch on the kernel's description, which whatever compiles the gpu.module defines.
  LogicalResult lowerLaunch(gpu::LaunchFuncOp op) {
    Location loc = op.getLoc();
    if (op->getParentOfType<LLVM::LLVMFuncOp>() != entry)
      return op.emitError("smet-lower-kernel: only @main of a kernel can launch others");
    b.setInsertionPoint(op);
    SmallVector<Value> places, bytes;
    for (Value operand : op.getKernelOperands()) {
      auto type = dyn_cast<MemRefType>(operand.getType());
      if ((type && !(type.hasStaticShape() && type.getLayout().isIdentity())) ||
          !converter.convertType(operand.getType()))
        return op.emitError("smet-lower-kernel: a launch cannot pass a value of type ") << operand.getType();
      Value passed = castTo(b, loc, converter.convertType(operand.getType()), operand);
      if (type)
        passed = MemRefDescriptor(passed).alignedPtr(b, loc);
      Value place = onStack(loc, passed.getType());
      LLVM::StoreOp::create(b, loc, passed, place);
      places.push_back(place);
      bytes.push_back(type ? bytesOf(loc, operand)
                           : constant(loc, -int64_t(llvm::divideCeil(passed.getType().getIntOrFloatBitWidth(), 8))));
    }
    auto sizes = [&](gpu::KernelDim3 size) -> SmallVector<Value> {
      return {i64(loc, size.x), i64(loc, size.y), i64(loc, size.z)};
    };
    SmallVector<Value> fields = sizes(op.getGridSizeOperandValues());
    llvm::append_range(fields, sizes(op.getBlockSizeOperandValues()));
    Value shared = op.getDynamicSharedMemorySize();
    fields.push_back(shared ? LLVM::ZExtOp::create(b, loc, b.getI64Type(), shared).getResult() : constant(loc, 0));
    fields.push_back(constant(loc, places.size()));
    fields.push_back(storeAll(loc, places, pointer));
    fields.push_back(storeAll(loc, bytes, b.getI64Type()));
    auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                 llvm::map_to_vector(fields, [](Value v) { return v.getType(); }));
    Value launch = onStack(loc, type);
    for (auto [i, value] : llvm::enumerate(fields))
      LLVM::StoreOp::create(b, loc, value, field(loc, type, launch, i));
    Value description = LLVM::AddressOfOp::create(b, loc, pointer, describe(op));
    callThroughContext(b, loc, entry.getArgument(0), SMET_SLOT_LAUNCH, LLVM::LLVMVoidType::get(b.getContext()),
                       {entry.getArgument(0), description, launch});
    op.erase();
    return success();
  }

  Value constant(Location loc, int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64Type(), value); }
  Value i64(Location loc, Value index) { return castTo(b, loc, b.getI64Type(), index); }

  Value onStack(Location loc, Type type) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&entry.front());
    return LLVM::AllocaOp::create(b, loc, pointer, type, constant(loc, 1), /*alignment=*/64);
  }

  Value storeAll(Location loc, ArrayRef<Value> values, Type type) {
    auto array = LLVM::LLVMArrayType::get(type, values.size());
    Value place = onStack(loc, array);
    for (auto [i, value] : llvm::enumerate(values))
      LLVM::StoreOp::create(
          b, loc, value,
          LLVM::GEPOp::create(b, loc, pointer, type, place, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)}));
    return place;
  }

  /// Bytes of an array; of all of it, where only its first slot is passed.
  Value bytesOf(Location loc, Value array) {
    if (auto part = array.getDefiningOp<memref::ReinterpretCastOp>())
      array = part.getSource();
    auto type = cast<MemRefType>(array.getType());
    Value bytes = arith::ConstantIndexOp::create(b, loc, type.getElementTypeBitWidth() / 8);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      bytes = arith::MulIOp::create(b, loc, bytes, memref::DimOp::create(b, loc, array, dim));
    return i64(loc, bytes);
  }

  /// The symbol of a kernel's smet_kernel, declared here.
  StringRef describe(gpu::LaunchFuncOp op) {
    std::string name = kernelDescription(op.getKernelModuleName().getValue(), op.getKernelName().getValue());
    if (auto known = kernel.lookupSymbol<LLVM::GlobalOp>(name))
      return known.getSymName();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(kernel.getBody());
    return LLVM::GlobalOp::create(b, op.getLoc(), kernelDescriptionType(b.getContext()), /*isConstant=*/true,
                                  LLVM::Linkage::External, name, Attribute())
        .getSymName();
  }

  ModuleOp kernel;
  OpBuilder b;
  LLVMTypeConverter converter;
  Type pointer;
  LLVM::LLVMFuncOp entry;
  DenseSet<Operation *> bodyFunctions;
};

struct LowerKernelPass : smet::impl::LowerKernelPassBase<LowerKernelPass> {
  void runOnOperation() final {
    if (failed(KernelLowering(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
