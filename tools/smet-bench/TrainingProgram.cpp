//===- TrainingProgram.cpp - a compiled model on random tokens ------------===//
#include "TrainingProgram.h"

#include "Statistics.h"

#include "runtime/cpu/Philox.h"
#include "runtime/support/Interrupt.h"
#include "runtime/train/CompilerProcess.h"

namespace smet::bench {

/// Random tokens; what pads a sequence is no target.
static rt::Status setInputs(rt::Instance &instance, const rt::TrainOptions &options, int64_t vocabulary) {
  auto tokens = instance.arena().tensor<int32_t>("tokens"), targets = instance.arena().tensor<int32_t>("targets");
  if (!tokens || !targets)
    return std::unexpected((tokens ? targets : tokens).error());
  int64_t padded = int64_t(tokens->size()) / options.batchSize;
  for (size_t i = 0; i < tokens->size(); ++i) {
    bool isPadding = int64_t(i) % padded >= options.seqLen;
    uint32_t random = rt::philox4x32({uint32_t(i), 0, 0, 0}, {1, 0})[0];
    (*tokens)[i] = isPadding ? 0 : int32_t(random % vocabulary);
    (*targets)[i] = isPadding ? -1 : int32_t((random / 7) % vocabulary);
  }
  (*instance.arena().tensor<int32_t>("num_valid"))[0] = int32_t(options.batchSize * options.seqLen);
  (*instance.arena().tensor<float>("lr"))[0] = 1e-3f;
  (*instance.arena().tensor<int64_t>("seed"))[0] = options.seed;
  return {};
}

rt::Expected<TrainingProgram> TrainingProgram::create(const rt::TrainOptions &options, const nlohmann::json &model,
                                                      rt::ThreadPool &pool) {
  auto program = rt::compilerFor(options.cacheDir.text).compile(rt::compileRequest(options, model, "train"));
  if (!program)
    return std::unexpected(program.error());
  auto instance = rt::Instance::load(*program, pool);
  if (!instance)
    return std::unexpected(instance.error());
  if (auto ready = setInputs(**instance, options, model.value("vocab_size", int64_t(1))); !ready)
    return std::unexpected(ready.error());
  TrainingProgram training(std::move(*instance));
  if (auto begun = training.run("init", nullptr); !begun)
    return std::unexpected(begun.error());
  return training;
}

rt::Expected<double> TrainingProgram::run(std::string_view entry, rt::Profile *profile) {
  if (rt::Status going = rt::checkInterrupt("measuring"); !going)
    return std::unexpected(going.error());
  rt::Expected<rt::Outcome> outcome = rt::Outcome::Ok;
  double seconds = secondsOf([&] { outcome = instance->run(entry, profile); });
  if (!outcome)
    return std::unexpected(outcome.error());
  if (*outcome != rt::Outcome::Ok)
    return rt::fail("the loss of step {} is not finite", steps);
  return seconds;
}

rt::Expected<double> TrainingProgram::step(rt::Profile *profile) {
  (*instance->arena().tensor<int64_t>("step"))[0] = ++steps;
  return run("train_step", profile);
}

rt::Expected<double> TrainingProgram::stepOn(rt::ThreadPool &pool, rt::Profile *profile) {
  rt::ThreadPool &own = instance->exchangePool(pool);
  rt::Expected<double> seconds = step(profile);
  instance->exchangePool(own);
  return seconds;
}

rt::Expected<double> TrainingProgram::updateTopology(double pruneRate, rt::Profile *profile) {
  (*instance->arena().tensor<int64_t>("update"))[0] = ++updates;
  (*instance->arena().tensor<double>("prune_rate"))[0] = pruneRate;
  return run("update_topology", profile);
}

} // namespace smet::bench
