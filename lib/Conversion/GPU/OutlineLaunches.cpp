//===- OutlineLaunches.cpp - bodies of gpu.launch become kernels ----------===//
#include "smet/Conversion/GPU.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Utils/GPUUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace smet {
#define GEN_PASS_DEF_OUTLINELAUNCHESPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;

namespace {

struct OutlineLaunchesPass : smet::impl::OutlineLaunchesPassBase<OutlineLaunchesPass> {
  void runOnOperation() final {
    SmallVector<gpu::LaunchOp> launches;
    getOperation().walk([&](gpu::LaunchOp launch) { launches.push_back(launch); });
    if (launches.empty())
      return;
    if (!getOperation().getSymName()) {
      launches[0].emitError("smet-outline-launches: expected a launch in a module with a name");
      return signalPassFailure();
    }
    OpBuilder b(&getContext());
    b.setInsertionPointToStart(getOperation().getBody());
    device = gpu::GPUModuleOp::create(b, getOperation().getLoc(), (*getOperation().getSymName() + ".device").str());
    getOperation()->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), b.getUnitAttr());
    for (auto [i, launch] : llvm::enumerate(launches))
      if (failed(outline(launch, "launch" + std::to_string(i))))
        return signalPassFailure();
  }

private:
  LogicalResult outline(gpu::LaunchOp launch, const std::string &name) {
    auto isConstant = [](Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); };
    if (failed(sinkOperationsIntoLaunchOp(launch, isConstant)))
      return failure();
    passAddresses(launch);
    SmallVector<Value> operands;
    gpu::GPUFuncOp kernel = outlineKernelFunc(launch, name, operands);
    device.getBody()->push_back(kernel);
    OpBuilder b(launch);
    // For the widest accesses, whatever the elements are.
    for (unsigned i = 0; i < kernel.getNumWorkgroupAttributions(); ++i)
      kernel.setWorkgroupAttributionAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16));
    auto symbol = SymbolRefAttr::get(device.getNameAttr(), FlatSymbolRefAttr::get(kernel.getNameAttr()));
    gpu::LaunchFuncOp::create(b, launch.getLoc(), symbol, launch.getGridSizeOperandValues(),
                              launch.getBlockSizeOperandValues(), launch.getDynamicSharedMemorySize(), operands);
    launch.erase();
    return success();
  }

  /// Arrays of which the leading size is not known travel as their first slot and that size.
  static void passAddresses(gpu::LaunchOp launch) {
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(launch.getBody(), used);
    Location loc = launch.getLoc();
    for (Value array : used) {
      auto type = dyn_cast<MemRefType>(array.getType());
      if (!type || type.hasStaticShape())
        continue;
      SmallVector<int64_t> sizes(type.getShape()), strides(type.getRank(), 1);
      for (int64_t dim = type.getRank() - 1; dim > 0; --dim)
        strides[dim - 1] = strides[dim] * sizes[dim];
      OpBuilder b(launch);
      Value count = memref::DimOp::create(b, loc, array, 0);
      sizes[0] = 1;
      auto slot = MemRefType::get(sizes, type.getElementType());
      Value base = memref::ReinterpretCastOp::create(b, loc, slot, array, /*offset=*/0, sizes, strides);
      b.setInsertionPointToStart(&launch.getBody().front());
      auto mixed = [&](ArrayRef<int64_t> values) {
        return llvm::map_to_vector(values, [&](int64_t v) -> OpFoldResult { return b.getIndexAttr(v); });
      };
      SmallVector<OpFoldResult> all = mixed(sizes);
      all[0] = count;
      Value whole = memref::ReinterpretCastOp::create(b, loc, type, base, b.getIndexAttr(0), all, mixed(strides));
      replaceAllUsesInRegionWith(array, whole, launch.getBody());
    }
  }

  gpu::GPUModuleOp device;
};

} // namespace
