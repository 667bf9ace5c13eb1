//===- PTX.cpp - kernels of the NVVM dialect to PTX -----------------------===//
#include "PTX.h"

#include "smet/Conversion/OptimizeLLVM.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace smet;

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

namespace {
/// A chip and the first version of PTX that knows it (PTX ISA, table of release notes), times ten. LLVM aborts on less.
struct Chip {
  StringLiteral name;
  unsigned ptx;
};
} // namespace

static constexpr Chip chips[] = {{"sm_80", 70},  {"sm_86", 71},   {"sm_87", 74},   {"sm_89", 78},  {"sm_90", 78},
                                 {"sm_90a", 80}, {"sm_100", 86},  {"sm_100a", 86}, {"sm_103", 88}, {"sm_103a", 88},
                                 {"sm_120", 87}, {"sm_120a", 87}, {"sm_121", 88},  {"sm_121a", 88}};
/// CUDA 12.0; what kernels are written with needs no more.
static constexpr unsigned defaultPtx = 80;

Expected<std::string> smet::featuresFor(StringRef chip, StringRef features) {
  const auto *known = find_if(chips, [&](const Chip &c) { return c.name == chip; });
  if (known == std::end(chips)) {
    std::string names;
    for (const Chip &c : chips)
      names += (names.empty() ? "" : ", ") + c.name.str();
    return createStringError("unknown chip '" + chip + "'; smet compiles for " + names +
                             " (an A100 is sm_80, H100 and H200 are sm_90a)");
  }
  if (features.empty())
    return ("+ptx" + Twine(std::max(known->ptx, defaultPtx))).str();
  StringRef number = features;
  unsigned version = 0;
  if (!number.consume_front("+ptx") || number.getAsInteger(10, version) || version < known->ptx)
    return createStringError("PTX features '" + features + "': expected a version as in +ptx" +
                             Twine(std::max(known->ptx, defaultPtx)) + "; " + chip + " needs at least +ptx" +
                             Twine(known->ptx));
  return features.str();
}

static Expected<std::unique_ptr<TargetMachine>> createMachine(StringRef chip, StringRef features) {
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("this LLVM has no code generator for PTX: " + error);
  std::unique_ptr<MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  for (StringRef name : {chip, features.drop_front()}) {
    auto is = [&](auto &description) { return name == description.Key; };
    if (none_of(info->getAllProcessorDescriptions(), is) && none_of(info->getAllProcessorFeatures(), is))
      return createStringError("this LLVM knows no '" + name + "'; name an older one");
  }
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, chip, features, TargetOptions(), std::nullopt, std::nullopt, CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

Expected<std::string> smet::emitPTX(mlir::gpu::GPUModuleOp op, StringRef chip, StringRef features) {
  auto machine = createMachine(chip, features);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  std::unique_ptr<Module> module = mlir::translateModuleToLLVMIR(op, context, op.getName());
  if (!module)
    return createStringError("cannot translate " + op.getName() + " to LLVM IR");
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  optimizeLLVM(*module, **machine);
  SmallString<0> text;
  raw_svector_ostream os(text);
  legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, os, nullptr, CodeGenFileType::AssemblyFile))
    return createStringError("the target cannot emit PTX");
  codegen.run(*module);
  return std::string(text);
}

//===----------------------------------------------------------------------===//
// What stands in PTX
//===----------------------------------------------------------------------===//

/// The lines of an entry.
static StringRef bodyOf(StringRef ptx, StringRef entry) {
  size_t start = ptx.find((".entry " + entry + "(").str());
  if (start == StringRef::npos)
    return "";
  size_t end = ptx.find("\n}", start);
  return ptx.slice(start, end);
}

Accesses smet::countAccesses(StringRef ptx, StringRef entry) {
  Accesses accesses;
  // ld.global[.modifiers][.v4].f32 and cp.async.cg.shared.global [%a], [%b], 16;
  Regex access("[ \t](ld|st)\\.global[a-z0-9_.:]*\\.[a-z]+([0-9]+)[ \t]"), count("\\.v([0-9]+)\\.");
  Regex copy("cp\\.async\\.c[ag]\\.shared\\.global[^,]*,[^,]*,[ ]*([0-9]+)");
  Regex local("[ \t](ld|st)\\.local"), mma("[ \t](mma\\.sync|wgmma\\.mma_async)");
  SmallVector<StringRef> lines, match;
  bodyOf(ptx, entry).split(lines, '\n');
  auto number = [](StringRef text) {
    int64_t value = 1;
    text.getAsInteger(10, value);
    return value;
  };
  for (StringRef line : lines) {
    if (access.match(line, &match)) {
      auto &widths = match[1] == "ld" ? accesses.globalLoads : accesses.globalStores;
      int64_t bytes = number(match[2]) / 8;
      ++widths[count.match(line, &match) ? bytes * number(match[1]) : bytes];
    } else if (copy.match(line, &match)) {
      ++accesses.asyncCopies[number(match[1])];
    }
    accesses.local += local.match(line);
    accesses.mma += mma.match(line);
  }
  return accesses;
}
