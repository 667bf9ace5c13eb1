//===- CodeGen.cpp - LLVM dialect -> object files -------------------------===//
#include "CodeGen.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;

std::pair<std::string, std::string> smet::hostProcessor() {
  SubtargetFeatures features;
  for (auto &[name, enabled] : sys::getHostCPUFeatures())
    features.AddFeature(name, enabled);
  return {sys::getHostCPUName().str(), features.getString()};
}

Expected<std::unique_ptr<TargetMachine>> smet::createTargetMachine(StringRef cpu, StringRef features) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Triple triple(sys::getProcessTriple());
  std::string error;
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("no code generator for " + triple.str() + ": " + error);
  auto [hostCPU, hostFeatures] = hostProcessor();
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard; // contraction is marked where it is allowed
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, cpu.empty() ? StringRef(hostCPU) : cpu, cpu.empty() ? StringRef(hostFeatures) : features, options,
      Reloc::PIC_, CodeModel::Small, CodeGenOptLevel::Default));
}

/// Whole registers: the widest vectors the target has, as kernels are written for.
static void setAttributes(Module &module) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(Attribute::NoUnwind);
  }
}

static void optimize(Module &module, TargetMachine &machine) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false; // kernels are vectors already
  tuning.SLPVectorization = false;
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
}

Expected<std::string> smet::emitObject(mlir::ModuleOp op, TargetMachine &machine) {
  LLVMContext context;
  std::unique_ptr<Module> module = mlir::translateModuleToLLVMIR(op, context, op.getSymName().value_or("smet_program"));
  if (!module)
    return createStringError("cannot translate " + op.getSymName().value_or("the program") + " to LLVM IR");
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(machine.getTargetTriple());
  setAttributes(*module);
  optimize(*module, machine);
  SmallString<0> object;
  raw_svector_ostream os(object);
  legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, os, nullptr, CodeGenFileType::ObjectFile))
    return createStringError("the target cannot emit object files");
  codegen.run(*module);
  return std::string(object);
}
