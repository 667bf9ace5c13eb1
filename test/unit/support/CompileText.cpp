//===- CompileText.cpp - compile a module given as text -------------------===//
#include "CompileText.h"

#include "smet/Compiler/Compiler.h"
#include "smet/Compiler/Request.h"
#include "smet/Conversion/CPU.h"
#include "smet/InitAll.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

static mlir::MLIRContext &sharedContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    smet::registerAllDialects(registry);
    return new mlir::MLIRContext(registry);
  }();
  return *context;
}

/// So that whole test programs run with kernels for another processor.
static std::string processor(const std::string &cpu = "") {
  const char *everywhere = std::getenv("SMET_TEST_CPU");
  return !cpu.empty() ? cpu : everywhere ? everywhere : "host";
}

std::string smet::test::compileText(const std::string &text, bool modelLevel, Target target, const std::string &path,
                                    const std::string &cpu) {
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&sharedContext(), [&](mlir::Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &sharedContext());
  if (!module)
    return "does not parse: " + diagnostics;
  CompileOptions options;
  options.target = target == Target::CPU         ? smet::Target::CPU
                   : target == Target::Reference ? smet::Target::Reference
                                                 : smet::Target::GPUEmulator;
  options.check = target == Target::GPUChecked;
  options.cpu = processor(cpu);
  auto report = compileProgram(*module, modelLevel, options, path);
  return report ? "" : llvm::toString(report.takeError()) + "\n" + diagnostics;
}

std::vector<std::string> smet::test::choicesOf(const std::string &text, int64_t vectorBits, int64_t numRegisters) {
  std::vector<std::string> choices;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &sharedContext());
  module->walk([&](mlir::Operation *op) {
    for (mlir::DictionaryAttr choice : sparseProductCandidates(op, {vectorBits, numRegisters}, /*tile=*/64))
      llvm::raw_string_ostream(choices.emplace_back()) << choice;
  });
  return choices;
}

std::string smet::test::compileModel(const std::string &requestJson, const std::string &path,
                                     const std::string &cache) {
  auto request = CompileRequest::parse(requestJson);
  if (!request)
    return llvm::toString(request.takeError());
  request->cpu = processor();
  auto report = compileRequest(*request, path, cache, /*dumpDirectory=*/"");
  return report ? "" : llvm::toString(report.takeError());
}
