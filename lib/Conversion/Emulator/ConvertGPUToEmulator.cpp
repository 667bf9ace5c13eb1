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
    describe(kernel, emulated.locations(), description);
    return success();
  }

  /// The constant smet_kernel (runtime/program/Abi.h).
  void describe(LLVM::LLVMFuncOp kernel, ArrayRef<std::string> locations, const std::string &description) {
    if (auto declared =
            SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(module->getParentOp(), b.getStringAttr(description)))
      declared.erase();
    OpBuilder::InsertionGuard guard(b);
    Location loc = kernel.getLoc();
    b.setInsertionPointAfter(kernel);
    Type pointer = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
    std::string name = kernel.getName().str();
    auto addressOf = [&](Operation *symbol) -> Value {
      if (auto global = dyn_cast<LLVM::GlobalOp>(symbol))
        return LLVM::AddressOfOp::create(b, loc, global);
      return LLVM::AddressOfOp::create(b, loc, cast<LLVM::LLVMFuncOp>(symbol));
    };
    auto text = [&](const Twine &symbol, StringRef value) {
      std::string bytes = value.str() + std::string(1, 0);
      auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
      return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, symbol.str(),
                                    b.getStringAttr(bytes));
    };
    auto constant = [&](const Twine &symbol, Type type, LLVM::Linkage linkage,
                        function_ref<SmallVector<Value>()> fields) {
      auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, linkage, symbol.str(), Attribute());
      OpBuilder::InsertionGuard inside(b);
      b.createBlock(&global.getInitializerRegion());
      Value value = LLVM::PoisonOp::create(b, loc, type);
      for (auto [i, field] : llvm::enumerate(fields()))
        value = LLVM::InsertValueOp::create(b, loc, value, field, ArrayRef<int64_t>{static_cast<int64_t>(i)});
      LLVM::ReturnOp::create(b, loc, value);
      return global;
    };
    SmallVector<Operation *> sites;
    for (auto [i, location] : llvm::enumerate(locations))
      sites.push_back(text(name + ".site" + Twine(i), location));
    auto table = constant(name + ".sites", LLVM::LLVMArrayType::get(pointer, sites.size()), LLVM::Linkage::Internal,
                          [&] { return llvm::map_to_vector(sites, addressOf); });
    auto symbol = text(name + ".name", name);
    constant(description, kernelDescriptionType(b.getContext()), LLVM::Linkage::External, [&]() -> SmallVector<Value> {
      auto number = [&](int64_t value) { return LLVM::ConstantOp::create(b, loc, i64, value); };
      return {addressOf(symbol), addressOf(kernel), number(sharedBytes), number(locations.size()), addressOf(table)};
    });
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
