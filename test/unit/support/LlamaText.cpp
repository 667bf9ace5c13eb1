//===- LlamaText.cpp - a model's entry points as text ---------------------===//
#include "LlamaText.h"

#include "smet/InitAll.h"
#include "smet/Models/Llama.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace smet;

static llvm::Expected<OwningOpRef<ModuleOp>> build(MLIRContext &context, const test::LlamaSpec &spec) {
  auto json = llvm::json::parse(spec.config);
  if (!json)
    return json.takeError();
  auto config = LlamaConfig::parse(*json->getAsObject());
  if (!config)
    return config.takeError();
  ModelRequest request;
  request.model = *config;
  request.kind = spec.infer ? ProgramKind::Infer : ProgramKind::Train;
  request.method = spec.dense ? Method::Dense : Method::Smet;
  request.density = spec.density;
  request.blockRows = spec.blockRows;
  request.blockCols = spec.blockCols;
  request.batch = spec.batch;
  request.seqLen = spec.seqLen;
  return buildLlama(&context, request);
}

std::string test::llamaText(const LlamaSpec &spec) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  auto module = build(context, spec);
  if (!module)
    return llvm::toString(module.takeError());
  PassManager pm(&context);
  pm.addPass(createDifferentiatePass());
  pm.addPass(createBuildStepsPass({/*gradients=*/true}));
  pm.addNestedPass<func::FuncOp>(createLowerLinearPass());
  if (failed(pm.run(**module)))
    return "a pass failed";
  for (StringRef name : {"init", "train_step", "update_topology"})
    if (auto function = (*module)->lookupSymbol<func::FuncOp>(name))
      function.erase();
  std::string text;
  llvm::raw_string_ostream(text) << **module;
  return text;
}
