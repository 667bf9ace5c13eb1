//===- LlamaModuleTest.cpp - the module of a model, and its entry points --===//
#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Smet.h"
#include "smet/InitAll.h"
#include "smet/Models/Llama.h"
#include "smet/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace smet;

namespace {

class LlamaModule : public testing::Test {
protected:
  LlamaModule() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    request.model.vocabSize = 96;
    request.model.hiddenSize = 64;
    request.model.intermediateSize = 96;
    request.model.numLayers = 2;
    request.model.numHeads = 4;
    request.model.numKVHeads = 2;
    request.batch = 2;
    request.seqLen = 70;
  }

  OwningOpRef<ModuleOp> build() {
    auto module = buildLlama(&context, request);
    if (!module) {
      ADD_FAILURE() << llvm::toString(module.takeError());
      return {};
    }
    EXPECT_TRUE(succeeded(verify(**module)));
    return std::move(*module);
  }

  OwningOpRef<ModuleOp> buildSteps() {
    OwningOpRef<ModuleOp> module = build();
    PassManager pm(&context);
    if (request.kind == ProgramKind::Train)
      pm.addPass(createDifferentiatePass());
    pm.addPass(createBuildStepsPass());
    EXPECT_TRUE(succeeded(pm.run(*module)));
    return module;
  }

  static std::vector<std::string> functions(ModuleOp module) {
    std::vector<std::string> names;
    for (auto function : module.getOps<func::FuncOp>())
      names.push_back(function.getSymName().str());
    return names;
  }

  static std::vector<std::string> argumentNames(ModuleOp module, StringRef function, StringRef role) {
    std::vector<std::string> names;
    auto f = module.lookupSymbol<func::FuncOp>(function);
    for (unsigned i = 0; i < f.getNumArguments(); ++i)
      if (f.getArgAttrOfType<StringAttr>(i, "smet.role").getValue() == role)
        names.push_back(f.getArgAttrOfType<StringAttr>(i, "smet.name").str());
    return names;
  }

  MLIRContext context;
  ModelRequest request;
};

template <typename OpT> int count(ModuleOp module, StringRef function) {
  int n = 0;
  module.lookupSymbol<func::FuncOp>(function).walk([&](OpT) { ++n; });
  return n;
}

TEST_F(LlamaModule, ForwardUsesPaddedSequences) {
  OwningOpRef<ModuleOp> module = build();
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  forward.walk([&](nn::EmbeddingOp op) {
    EXPECT_EQ(op.getX().getType(), RankedTensorType::get({2 * 128, 64}, Float32Type::get(&context)));
  });
  forward.walk([&](nn::AttentionOp op) { EXPECT_EQ(op.getSeqLen(), 128u); });
  EXPECT_EQ(count<LinearOp>(*module, "forward"), 14);
  EXPECT_EQ(count<nn::LinearOp>(*module, "forward"), 0);
}

TEST_F(LlamaModule, TrainingHasTheEntryPointsOfItsMethod) {
  EXPECT_EQ(functions(*buildSteps()), (std::vector<std::string>{"init", "train_step", "eval_step", "update_topology"}));
  request.method = Method::Static;
  EXPECT_EQ(functions(*buildSteps()), (std::vector<std::string>{"init", "train_step", "eval_step"}));
  request.method = Method::Dense;
  OwningOpRef<ModuleOp> dense = buildSteps();
  EXPECT_EQ(functions(*dense), (std::vector<std::string>{"init", "train_step", "eval_step"}));
  EXPECT_EQ(count<DenseAdamStepOp>(*dense, "train_step"), 2 * 9 + 3);
  EXPECT_TRUE(argumentNames(*dense, "train_step", "topology").empty());
}

TEST_F(LlamaModule, EveryParameterHasOneOptimizerStep) {
  OwningOpRef<ModuleOp> module = buildSteps();
  EXPECT_EQ(count<AdamStepOp>(*module, "train_step"), 14);
  EXPECT_EQ(count<DenseAdamStepOp>(*module, "train_step"), 2 * 2 + 3);
  request.model.tieWordEmbeddings = true;
  module = buildSteps();
  EXPECT_EQ(count<DenseAdamStepOp>(*module, "train_step"), 2 * 2 + 2);
  // The one gradient of the tied table is the sum of both uses.
  module->walk([&](DenseAdamStepOp op) {
    auto w = cast<BlockArgument>(op.getW());
    auto function = cast<func::FuncOp>(w.getOwner()->getParentOp());
    if (function.getArgAttrOfType<StringAttr>(w.getArgNumber(), "smet.name") == "model.embed_tokens.weight") {
      auto sum = op.getGrad().getDefiningOp<nn::AddOp>();
      ASSERT_TRUE(sum);
      EXPECT_TRUE(sum.getA().getDefiningOp<nn::LinearCrossEntropyGradOp>());
      EXPECT_TRUE(sum.getB().getDefiningOp<nn::EmbeddingGradOp>());
    }
  });
}

TEST_F(LlamaModule, NothingIsWrittenBeforeTheLossIsChecked) {
  OwningOpRef<ModuleOp> module = buildSteps();
  auto step = module->lookupSymbol<func::FuncOp>("train_step");
  auto checks = step.getOps<CheckFiniteOp>();
  ASSERT_EQ(std::distance(checks.begin(), checks.end()), 1);
  Operation *check = *checks.begin();
  for (Operation &op : step.front())
    if (isa<AdamStepOp, DenseAdamStepOp>(op))
      EXPECT_TRUE(check->isBeforeInBlock(&op));
}

TEST_F(LlamaModule, UpdatesComeBehindEveryReadOfTheOldWeight) {
  OwningOpRef<ModuleOp> module = buildSteps();
  auto step = module->lookupSymbol<func::FuncOp>("train_step");
  for (BlockArgument argument : step.getArguments())
    for (Operation *writer : argument.getUsers())
      if (isa<AdamStepOp, DenseAdamStepOp>(writer))
        for (Operation *reader : argument.getUsers())
          if (!isa<AdamStepOp, DenseAdamStepOp>(reader))
            EXPECT_TRUE(reader->isBeforeInBlock(writer));
}

TEST_F(LlamaModule, NamesAreThoseOfTheManifest) {
  OwningOpRef<ModuleOp> module = buildSteps();
  EXPECT_EQ(argumentNames(*module, "train_step", "input"),
            (std::vector<std::string>{"tokens", "targets", "num_valid", "lr", "step"}));
  EXPECT_EQ(argumentNames(*module, "train_step", "output"), std::vector<std::string>{"loss"});
  EXPECT_EQ(argumentNames(*module, "init", "input"), std::vector<std::string>{"seed"});
  EXPECT_EQ(argumentNames(*module, "update_topology", "input"),
            (std::vector<std::string>{"seed", "update", "prune_rate"}));
  std::vector<std::string> params = argumentNames(*module, "eval_step", "param");
  ASSERT_EQ(params.size(), 2u * 9 + 3);
  EXPECT_EQ(params.front(), "model.embed_tokens.weight");
  EXPECT_EQ(params[2], "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(params.back(), "lm_head.weight");
  EXPECT_EQ(argumentNames(*module, "update_topology", "topology").front(),
            "model.layers.0.self_attn.q_proj.weight.topology");
}

TEST_F(LlamaModule, OnlyReturnedArgumentsAreWritable) {
  OwningOpRef<ModuleOp> module = buildSteps();
  for (auto function : module->getOps<func::FuncOp>()) {
    std::set<std::string> returned;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      EXPECT_TRUE(returned.insert(function.getResultAttrOfType<StringAttr>(i, "smet.name").str()).second);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      EXPECT_EQ(function.getArgAttrOfType<BoolAttr>(i, "bufferization.writable").getValue(),
                returned.count(function.getArgAttrOfType<StringAttr>(i, "smet.name").str()) == 1)
          << function.getSymName().str() << " " << i;
  }
}

TEST_F(LlamaModule, InferenceWritesLogitsAndCaches) {
  request.kind = ProgramKind::Infer;
  OwningOpRef<ModuleOp> module = buildSteps();
  EXPECT_EQ(functions(*module), (std::vector<std::string>{"prefill", "decode"}));
  for (StringRef name : {"prefill", "decode"}) {
    auto function = module->lookupSymbol<func::FuncOp>(name);
    EXPECT_EQ(
        argumentNames(*module, name, "state"),
        (std::vector<std::string>{"layers.0.k_cache", "layers.0.v_cache", "layers.1.k_cache", "layers.1.v_cache"}));
    EXPECT_EQ(argumentNames(*module, name, "output"), std::vector<std::string>{"logits"});
    for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
      auto op = value.getDefiningOp<DestinationStyleOpInterface>();
      auto destination = cast<BlockArgument>(op.getTiedOpOperand(cast<OpResult>(value))->get());
      EXPECT_EQ(function.getArgAttr(destination.getArgNumber(), "smet.name"), function.getResultAttr(i, "smet.name"));
    }
  }
}

TEST_F(LlamaModule, LayersAreListedForTheManifest) {
  request.density = 0.25;
  OwningOpRef<ModuleOp> module = buildSteps();
  auto layers = llvm::json::parse((*module)->getAttrOfType<StringAttr>("smet.layers").getValue());
  ASSERT_TRUE(static_cast<bool>(layers));
  ASSERT_EQ(layers->getAsArray()->size(), 14u);
  const llvm::json::Object &gate = *(*layers->getAsArray())[4].getAsObject();
  EXPECT_EQ(gate.getString("name"), "model.layers.0.mlp.gate_proj.weight");
  EXPECT_EQ(gate.getInteger("id"), 7);
  EXPECT_EQ(gate.getInteger("rows"), 96);
  EXPECT_EQ(gate.getInteger("cols"), 64);
  EXPECT_EQ(gate.getInteger("nnz"), 6); // 0.25 * (96 / 16) * (64 / 16)
}

} // namespace
