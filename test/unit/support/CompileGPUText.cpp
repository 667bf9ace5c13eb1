//===- CompileGPUText.cpp - GPU kernels given as text, for the emulator ---===//
#include "CompileGPUText.h"

#include "lib/Compiler/CodeGen.h"
#include "lib/Compiler/Link.h"
#include "smet/Conversion/GPU.h"
#include "smet/InitAll.h"
#include "smet/Pipelines/Pipelines.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"

using namespace smet;

static std::string compile(mlir::MLIRContext &context, const std::string &text, bool check, const std::string &path) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "kernel.mlir");
  if (!module)
    return "does not parse";
  mlir::PassManager pm(&context);
  EmulatorPipelineOptions options;
  options.check = check;
  buildGPUToEmulatorPipeline(pm, options);
  if (mlir::failed(pm.run(*module)))
    return "does not compile";
  auto machine = createTargetMachine("host");
  if (!machine)
    return llvm::toString(machine.takeError());
  auto object = emitObject(*module, **machine);
  if (!object)
    return llvm::toString(object.takeError());
  return llvm::toString(linkProgram({*object}, path));
}

std::string test::gpuModuleOf(const std::string &text) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "";
  mlir::PassManager pm(&context);
  pm.addPass(createConvertKernelsToGPUPass());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  pm.addPass(createOutlineLaunchesPass());
  std::string result;
  llvm::raw_string_ostream stream(result);
  if (mlir::succeeded(pm.run(*module)))
    for (auto device : module->getOps<mlir::gpu::GPUModuleOp>())
      device.print(stream, mlir::OpPrintingFlags().useLocalScope());
  return result;
}

std::string test::compileGPUText(const std::string &text, bool check, const std::string &path) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return mlir::success();
  });
  std::string wrong = compile(context, text, check, path);
  return wrong.empty() ? "" : wrong + ": " + diagnostics;
}
