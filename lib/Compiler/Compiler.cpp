//===- Compiler.cpp - module + options -> program file --------------------===//
#include "smet/Compiler/Compiler.h"

#include "CodeGen.h"
#include "Identity.h"
#include "Link.h"
#include "Objects.h"
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Pipelines/Pipelines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

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

/// The manifest says what the program needs of a processor.
llvm::Error addProcessor(ModuleOp module, const llvm::TargetMachine &machine) {
  auto manifest = llvm::json::parse(module->getAttrOfType<StringAttr>(names::manifest).getValue());
  if (!manifest)
    return manifest.takeError();
  llvm::json::Object &object = *manifest->getAsObject();
  object["cpu"] = machine.getTargetCPU();
  object["instruction_sets"] = llvm::json::Array(instructionSets(machine));
  std::string text;
  llvm::raw_string_ostream(text) << *manifest;
  module->setAttr(names::manifest, StringAttr::get(module.getContext(), text));
  return llvm::Error::success();
}

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

} // namespace

StringRef smet::name(Target target) {
  switch (target) {
  case Target::Reference:
    return "reference";
  case Target::CPU:
    return "cpu";
  case Target::GPUEmulator:
    return "gpu-emulator";
  case Target::CUDA:
    return "cuda";
  }
  llvm_unreachable("a target");
}

llvm::Expected<CompileReport> smet::compileProgram(ModuleOp module, bool modelLevel, const CompileOptions &options,
                                                   StringRef path) {
  auto machine = createTargetMachine(options.cpu);
  if (!machine)
    return machine.takeError();
  Stages stages(module, options.dumpDirectory);
  if (auto error = stages.dump(modelLevel ? "model" : "entry-points"))
    return std::move(error);
  bool onGPU = options.target == Target::GPUEmulator || options.target == Target::CUDA;
  auto buildEntryPoints = [&](OpPassManager &pm) { buildEntryPointPipeline(pm, /*widenValues=*/!onGPU); };
  if (modelLevel)
    if (auto error = stages.run("entry-points", buildEntryPoints))
      return std::move(error);
  auto buildTarget = [&](OpPassManager &pm) {
    if (options.target == Target::Reference)
      return buildReferencePipeline(pm);
    if (onGPU)
      return buildGPUPipeline(pm);
    VectorUnit unit = vectorUnit(**machine);
    CPUPipelineOptions cpu;
    cpu.vectorBits = unit.bits;
    cpu.numRegisters = unit.numRegisters;
    buildCPUPipeline(pm, cpu);
  };
  if (auto error = stages.run(name(options.target), buildTarget))
    return std::move(error);
  Objects objects(module, options, compilerIdentity(options, **machine));
  objects.findKernels();
  auto buildCalls = [&](OpPassManager &pm) { buildCallsPipeline(pm, options.target == Target::CUDA); };
  if (auto error = stages.run("calls", buildCalls))
    return std::move(error);
  objects.eraseFound();
  auto buildKernels = [&](OpPassManager &pm) {
    OpPassManager &kernel = pm.nest<ModuleOp>();
    if (options.target == Target::CUDA) {
      CUDAPipelineOptions cuda;
      cuda.chip = options.chip.name;
      cuda.features = options.chip.features;
      cuda.format = options.chip.format;
      return buildCUDAKernelToLLVMPipeline(kernel, cuda);
    }
    if (options.target != Target::GPUEmulator)
      return buildKernelToLLVMPipeline(kernel);
    EmulatorPipelineOptions emulator;
    emulator.check = options.check;
    buildEmulatedKernelToLLVMPipeline(kernel, emulator);
  };
  if (auto error = stages.run("llvm", buildKernels))
    return std::move(error);
  if (auto error = addProcessor(module, **machine))
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
