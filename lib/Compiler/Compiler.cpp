//===- Compiler.cpp - module + options -> program file --------------------===//
#include "smet/Compiler/Compiler.h"

#include "CodeGen.h"
#include "Link.h"
#include "Objects.h"
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Pipelines/Pipelines.h"

#include "runtime/program/Abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <dlfcn.h>

using namespace mlir;
using namespace smet;

namespace {

using llvm::createStringError;

/// Runs the stages, each of which may be dumped.
class Stages {
public:
  Stages(ModuleOp module, StringRef directory) : module(module), directory(directory) {}

  llvm::Error dump(StringRef name) {
    if (directory.empty())
      return llvm::Error::success();
    if (std::error_code error = llvm::sys::fs::create_directories(directory))
      return createStringError("cannot make the directory '" + directory + "': " + error.message());
    std::string path = (directory + "/0" + Twine(++count) + "-" + name + ".mlir").str();
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (error)
      return createStringError("cannot write '" + path + "': " + error.message());
    module.print(os);
    return llvm::Error::success();
  }

  llvm::Error run(StringRef name, llvm::function_ref<void(OpPassManager &)> build) {
    PassManager pm(module.getContext());
    build(pm);
    if (failed(pm.run(module)))
      return createStringError("compilation failed in stage '" + name + "'");
    return dump(name);
  }

private:
  ModuleOp module;
  std::string directory;
  int count = 0;
};

/// The manifest becomes data of the program: smet_manifest, smet_manifest_size.
void embedManifest(ModuleOp module) {
  auto manifest = module->getAttrOfType<StringAttr>(names::manifest);
  auto b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  auto text = LLVM::LLVMArrayType::get(b.getI8Type(), manifest.size());
  LLVM::GlobalOp::create(b, loc, text, /*isConstant=*/true, LLVM::Linkage::External, "smet_manifest", manifest);
  LLVM::GlobalOp::create(b, loc, b.getI64Type(), /*isConstant=*/true, LLVM::Linkage::External, "smet_manifest_size",
                         b.getI64IntegerAttr(manifest.size()));
  module->removeAttr(names::manifest);
}

/// The vector registers that a machine has.
void setVectorUnit(CPUPipelineOptions &options, const llvm::TargetMachine &machine) {
  const llvm::MCSubtargetInfo &features = *machine.getMCSubtargetInfo();
  bool avx512 = features.checkFeatures("+avx512f");
  options.vectorBits = avx512 ? 512 : features.checkFeatures("+avx") ? 256 : 128;
  options.numRegisters = avx512 ? 32 : 16;
}

} // namespace

llvm::Expected<CompileReport> smet::compileProgram(ModuleOp module, bool modelLevel, const CompileOptions &options,
                                                   StringRef path) {
  Stages stages(module, options.dumpDirectory);
  if (auto error = stages.dump("model"))
    return std::move(error);
  if (modelLevel)
    if (auto error = stages.run("entry-points", buildEntryPointPipeline))
      return std::move(error);
  auto machine = createTargetMachine(options.cpu, options.features);
  if (!machine)
    return machine.takeError();
  auto buildTarget = [&](OpPassManager &pm) {
    if (options.target == Target::Reference)
      return buildReferencePipeline(pm);
    CPUPipelineOptions cpu;
    setVectorUnit(cpu, **machine);
    buildCPUPipeline(pm, cpu);
  };
  if (auto error = stages.run(options.target == Target::CPU ? "cpu" : "reference", buildTarget))
    return std::move(error);
  Objects objects(module, options);
  objects.findKernels();
  if (auto error = stages.run("calls", buildCallsPipeline))
    return std::move(error);
  objects.eraseFound();
  if (auto error = stages.run("llvm", [](OpPassManager &pm) { buildKernelToLLVMPipeline(pm.nest<ModuleOp>()); }))
    return std::move(error);
  embedManifest(module);
  CompileReport report = objects.report();
  auto emitted = objects.emit();
  if (!emitted)
    return emitted.takeError();
  if (auto error = linkProgram(*emitted, path))
    return std::move(error);
  return report;
}

/// Of the executable or library that holds this compiler, so that another build of it finds nothing of this one.
static std::string buildHash() {
  Dl_info info{};
  auto *here = reinterpret_cast<void *>(&compilerIdentity);
  auto file = llvm::MemoryBuffer::getFile(dladdr(here, &info) ? info.dli_fname : "");
  if (!file) // found through PATH, then the name is no path
    file = llvm::MemoryBuffer::getFile(llvm::sys::fs::getMainExecutable(nullptr, here));
  return file ? llvm::utohexstr(llvm::xxh3_64bits((*file)->getBuffer())) : "unknown";
}

std::string smet::compilerIdentity(const CompileOptions &options) {
  auto [cpu, features] = hostProcessor();
  if (!options.cpu.empty())
    std::tie(cpu, features) = std::pair(options.cpu, options.features);
  return (Twine("smet ") + SMET_VERSION + ", LLVM " + LLVM_VERSION_STRING + ", abi " + Twine(SMET_ABI_VERSION) + ", " +
          (options.target == Target::CPU ? "cpu" : "reference") + ", " + cpu + ", " + features + ", build " +
          buildHash())
      .str();
}
