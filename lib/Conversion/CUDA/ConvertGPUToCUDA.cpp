//===- ConvertGPUToCUDA.cpp - the pass ------------------------------------===//
#include "PTX.h"
#include "Ptxas.h"

#include "smet/Conversion/CUDA.h"
#include "smet/Conversion/KernelDescription.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

namespace smet {
#define GEN_PASS_DEF_CONVERTGPUTOCUDAPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace json = llvm::json;

namespace {

/// What the kernels of a gpu.module are compiled for.
struct Setting {
  std::string chip, features, format;
};

/// The kernels of one gpu.module.
class ModuleLowering {
public:
  ModuleLowering(gpu::GPUModuleOp module, const Setting &setting)
      : module(module), b(module.getContext()), setting(setting) {}

  LogicalResult run() {
    for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
      if (kernel.isExternal())
        return kernel.emitError("smet-convert-gpu-to-cuda: a kernel calls this function, and has no library");
      if (!kernel->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
        return kernel.emitError("smet-convert-gpu-to-cuda: expected kernels only, with everything else inlined");
      names.push_back(kernel.getName().str());
      threads.push_back(threadsOf(kernel));
      kernel.setSymName(entryOf(names.back()));
    }
    if (failed(compile()) || (keepFromSpilling() && failed(compile())))
      return failure();
    b.setInsertionPoint(module);
    LLVM::GlobalOp image = defineBytes(b, module.getLoc(), (module.getName() + ".image").str(), assembled.image);
    for (auto [name, count] : llvm::zip_equal(names, threads))
      describe(name, count, image);
    module.erase();
    return success();
  }

private:
  LogicalResult compile() {
    auto text = emitPTX(module, setting.chip, setting.features);
    if (!text)
      return module.emitError("smet-convert-gpu-to-cuda: ") << llvm::toString(text.takeError());
    ptx = std::move(*text);
    assembled = {ptx + std::string(1, 0), {}}; // the driver takes PTX as a C string
    if (setting.format == "isa")
      return success();
    auto result = assemble(ptx, setting.chip, setting.format == "fatbin");
    if (!result)
      return module.emitError("smet-convert-gpu-to-cuda: ") << llvm::toString(result.takeError());
    assembled = std::move(*result);
    return success();
  }

  /// ptxas spills a few registers for the sake of more blocks on a multiprocessor, which costs more than it brings:
  /// kernels where it did so are content with one block. Returns whether there are any.
  bool keepFromSpilling() {
    bool found = false;
    for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
      auto resources = assembled.resources.find(kernel.getName());
      if (resources == assembled.resources.end() || !resources->second.stackBytes || !threadsOf(kernel))
        continue;
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
      found = true;
    }
    return found;
  }

  /// A name that PTX can have, and profilers show.
  std::string entryOf(StringRef kernel) {
    std::string entry = (module.getName() + "_" + kernel).str();
    std::ranges::replace_if(entry, [](char c) { return !llvm::isAlnum(c); }, '_');
    return entry;
  }

  /// Of a block, as the launch has it; 0 where it is not constant.
  static int64_t threadsOf(LLVM::LLVMFuncOp kernel) {
    auto sizes = kernel->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getMaxntidAttrName());
    int64_t threads = sizes ? 1 : 0;
    for (int32_t size : sizes ? sizes.asArrayRef() : ArrayRef<int32_t>())
      threads *= size;
    return threads;
  }

  void describe(const std::string &kernel, int64_t count, LLVM::GlobalOp image) {
    KernelDescription description;
    description.name = (module.getName() + "." + kernel).str();
    description.entry = entryOf(kernel);
    description.image = image;
    auto resources = assembled.resources.find(description.entry);
    defineKernel(b, module.getLoc(), kernelDescription(module.getName(), kernel), description);

    // Exported, so that the linker keeps it.
    std::string text = report(description, count, countAccesses(ptx, description.entry),
                              resources == assembled.resources.end() ? nullptr : &resources->second);
    LLVM::GlobalOp global = defineBytes(b, module.getLoc(), description.name + ".report", text + std::string(1, 0));
    global.setLinkage(LLVM::Linkage::External);
    global.setSection(kernelReportSection);
    global.setAlignment(1);
  }

  std::string report(const KernelDescription &kernel, int64_t count, const Accesses &accesses,
                     const KernelResources *resources) {
    auto widths = [](const std::map<int64_t, int64_t> &counts) {
      json::Object object;
      for (auto [bytes, number] : counts)
        object[std::to_string(bytes)] = number;
      return object;
    };
    json::Object object{{"kernel", kernel.name},
                        {"chip", setting.chip},
                        {"threads", count},
                        {"global_loads", widths(accesses.globalLoads)},
                        {"global_stores", widths(accesses.globalStores)},
                        {"async_copies", widths(accesses.asyncCopies)},
                        {"local_accesses", accesses.local},
                        {"mma", accesses.mma}};
    if (resources) {
      object["registers"] = resources->registers;
      object["shared_bytes"] = resources->sharedBytes;
      object["stack_bytes"] = resources->stackBytes;
      object["spill_store_bytes"] = resources->spillStoreBytes;
      object["spill_load_bytes"] = resources->spillLoadBytes;
    }
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(std::move(object));
    return text;
  }

  gpu::GPUModuleOp module;
  OpBuilder b;
  const Setting &setting;
  SmallVector<std::string> names;
  SmallVector<int64_t> threads;
  std::string ptx;
  Assembled assembled;
};

struct ConvertGPUToCUDAPass : smet::impl::ConvertGPUToCUDAPassBase<ConvertGPUToCUDAPass> {
  using Base::Base;

  void runOnOperation() final {
    auto version = featuresFor(chip, features);
    if (!version) {
      getOperation().emitError("smet-convert-gpu-to-cuda: ") << llvm::toString(version.takeError());
      return signalPassFailure();
    }
    if (!llvm::is_contained({"isa", "bin", "fatbin"}, StringRef(format))) {
      getOperation().emitError("smet-convert-gpu-to-cuda: unknown format '") << format << "'; isa, bin or fatbin";
      return signalPassFailure();
    }
    Setting setting{chip, *version, format};
    for (auto module : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
      if (failed(ModuleLowering(module, setting).run()))
        return signalPassFailure();
  }
};

} // namespace
