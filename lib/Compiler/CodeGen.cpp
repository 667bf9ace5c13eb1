//===- CodeGen.cpp - LLVM dialect -> object files -------------------------===//
#include "CodeGen.h"

#include "runtime/program/InstructionSets.h"
#include "smet/Conversion/OptimizeLLVM.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;

/// "x86-64-v3, znver4": processors of the target that run 64-bit code and whose names are like `cpu`, or typical ones.
static std::string suggestProcessors(const MCSubtargetInfo &target, StringRef cpu) {
  std::string names = "host, x86-64, x86-64-v2, x86-64-v3, x86-64-v4";
  StringRef closest;
  auto best = unsigned(cpu.size() / 3 + 1);
  for (const SubtargetSubTypeKV &processor : target.getAllProcessorDescriptions())
    if (unsigned distance = cpu.edit_distance(processor.Key, true, best); distance < best) {
      closest = processor.Key;
      best = distance;
    }
  return (closest.empty() ? "" : "did you mean '" + closest.str() + "'? ") + names +
         " and the names of `clang --print-supported-cpus` are known";
}

/// LLVM itself goes on with a name that it does not know, and aborts with one that has no 64-bit mode.
static Error checkProcessor(const Target &target, const Triple &triple, StringRef cpu) {
  std::unique_ptr<MCSubtargetInfo> generic(target.createMCSubtargetInfo(triple, "", ""));
  if (!generic->isCPUStringValid(cpu))
    return createStringError("--cpu: unknown processor '" + cpu + "'; " + suggestProcessors(*generic, cpu));
  std::unique_ptr<MCSubtargetInfo> info(target.createMCSubtargetInfo(triple, cpu, ""));
  if (triple.isX86() && !info->checkFeatures("+64bit"))
    return createStringError("--cpu: '" + cpu + "' has no 64-bit mode; " + suggestProcessors(*generic, ""));
  return Error::success();
}

Expected<std::unique_ptr<TargetMachine>> smet::createTargetMachine(StringRef cpu) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Triple triple(sys::getProcessTriple());
  std::string error;
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("no code generator for " + triple.str() + ": " + error);
  SubtargetFeatures features; // of a named processor: those of its name
  if (cpu == "host") {
    cpu = sys::getHostCPUName();
    for (auto &[name, enabled] : sys::getHostCPUFeatures())
      features.AddFeature(name, enabled);
  } else if (Error unknown = checkProcessor(*target, triple, cpu)) {
    return std::move(unknown);
  } else if (triple.isX86()) {
    // The runtime cannot look for these (runtime/program/InstructionSets.h) and would not refuse a program with them.
    for (StringRef name : {"avx10.1", "avx10.2", "ccmp", "cf", "egpr", "movrs", "ndd", "nf", "ppx", "push2pop2", "zu"})
      features.AddFeature(name, false);
  }
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard; // contraction is marked where it is allowed
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, cpu, features.getString(), options, Reloc::PIC_, CodeModel::Small, CodeGenOptLevel::Default));
}

smet::VectorUnit smet::vectorUnit(const TargetMachine &machine) {
  const MCSubtargetInfo &features = *machine.getMCSubtargetInfo();
  if (features.checkFeatures("+avx512f"))
    return {512, 32};
  return {features.checkFeatures("+avx") ? 256 : 128, 16};
}

std::vector<std::string> smet::instructionSets(const TargetMachine &machine) {
  std::vector<std::string> names;
  if (machine.getTargetTriple().isX86())
    for (const char *name : x86InstructionSets)
      if (machine.getMCSubtargetInfo()->checkFeatures(std::string("+") + name))
        names.push_back(name);
  return names;
}

/// Whole registers: the widest vectors the target has, as kernels are written for.
static void setAttributes(Module &module, const TargetMachine &machine) {
  std::string width = std::to_string(smet::vectorUnit(machine).bits);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr(Attribute::NoUnwind);
  }
}

/// Without FMA instructions an exact fma would be a call a lane; nothing here needs it exact.
static void relaxFma(Module &module, const TargetMachine &machine) {
  const MCSubtargetInfo &features = *machine.getMCSubtargetInfo();
  if (!machine.getTargetTriple().isX86() || features.checkFeatures("+fma") || features.checkFeatures("+fma4"))
    return;
  for (Function &function : llvm::make_early_inc_range(module))
    if (function.getIntrinsicID() == Intrinsic::fma)
      function.replaceAllUsesWith(
          Intrinsic::getOrInsertDeclaration(&module, Intrinsic::fmuladd, function.getReturnType()));
}

Expected<std::string> smet::emitObject(mlir::ModuleOp op, TargetMachine &machine) {
  LLVMContext context;
  std::unique_ptr<Module> module = mlir::translateModuleToLLVMIR(op, context, op.getSymName().value_or("smet_program"));
  if (!module)
    return createStringError("cannot translate " + op.getSymName().value_or("the program") + " to LLVM IR");
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(machine.getTargetTriple());
  setAttributes(*module, machine);
  relaxFma(*module, machine);
  smet::optimizeLLVM(*module, machine);
  SmallString<0> object;
  raw_svector_ostream os(object);
  legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, os, nullptr, CodeGenFileType::ObjectFile))
    return createStringError("the target cannot emit object files");
  codegen.run(*module);
  return std::string(object);
}
