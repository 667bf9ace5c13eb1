//===- ConvertGPUToEmulator.cpp - the pass --------------------------------===//
#include "EmulatedKernel.h"

#include "smet/Conversion/Emulator.h"
#include "smet/Conversion/KernelDescription.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace smet {
#define GEN_PASS_DEF_CONVERTGPUTOEMULATORPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

/// The kernels of one gpu.module.
class ModuleLowering {
public:
  ModuleLowering(gpu::GPUModuleOp module, bool check) : module(module), b(module.getContext()), check(check) {}

  LogicalResult run() {
    placeShared();
    for (auto kernel : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (failed(lowerKernel(kernel)))
        return failure();
    module.erase();
    return success();
  }

private:
  /// A place in the block's shared memory for each global of it, one behind the other; one of no size gets the end,
  /// where the launch adds what it asks for.
  void placeShared() {
    for (bool dynamic : {false, true})
      for (auto global : module.getOps<LLVM::GlobalOp>()) {
        if (global.getAddrSpace() != sharedSpace)
          continue;
        auto bytes = static_cast<int64_t>(DataLayout::closest(global).getTypeSize(global.getType()));
        if ((bytes == 0) != dynamic)
          continue;
        sharedBytes = llvm::alignTo(sharedBytes, std::max<uint64_t>(global.getAlignment().value_or(0), 16));
        offsets[global.getSymName()] = sharedBytes;
        sharedBytes += bytes;
      }
  }

  LogicalResult lowerKernel(LLVM::LLVMFuncOp kernel) {
    if (!kernel->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      return kernel.emitError("smet-convert-gpu-to-emulator: expected kernels only, with everything else inlined");
    std::string description = kernelDescription(module.getName(), kernel.getName());
    kernel->moveBefore(module);
    kernel.setSymName((module.getName() + "." + kernel.getName()).str());
    EmulatedKernel emulated(kernel, offsets);
    if (failed(emulated.lowerInstructions()) || (check && failed(emulated.instrument())))
      return failure();
    for (NamedAttribute attr : llvm::to_vector(kernel->getDiscardableAttrs()))
      kernel->removeDiscardableAttr(attr.getName());
    b.setInsertionPointAfter(kernel);
    defineKernel(b, kernel.getLoc(), description,
                 {kernel.getName().str(), kernel, sharedBytes, emulated.locations(), "", nullptr});
    return success();
  }

  static constexpr uint32_t sharedSpace = 3;
  gpu::GPUModuleOp module;
  OpBuilder b;
  bool check;
  llvm::StringMap<int64_t> offsets;
  int64_t sharedBytes = 0;
};

struct ConvertGPUToEmulatorPass : smet::impl::ConvertGPUToEmulatorPassBase<ConvertGPUToEmulatorPass> {
  using Base::Base;

  void runOnOperation() final {
    for (auto module : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
      if (failed(ModuleLowering(module, check).run()))
        return signalPassFailure();
  }
};

} // namespace
