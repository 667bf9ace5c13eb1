//===- Evaluation.cpp - loss on held-out text -----------------------------===//

#include "runtime/train/Evaluation.h"

#include "runtime/support/Interrupt.h"

#include <cmath>
#include <numbers>

namespace smet::rt {

double EvalResult::perplexity() const { return std::exp(loss); }

Expected<BatchShape> batchShape(const Manifest &manifest) {
  const nlohmann::json &config = manifest.config;
  for (const char *key : {"batch", "seq_len", "padded_seq_len"})
    if (!config.is_object() || !config.contains(key) || !config[key].is_number_integer())
      return fail("the program's manifest has no config.{}; compile it again", key);
  return BatchShape{config["batch"], config["seq_len"], config["padded_seq_len"]};
}

Expected<EvalResult> evaluate(Instance &instance, const EvalBatches &batches, int64_t limit) {
  auto tokens = instance.arena().tensor<int32_t>("tokens"), targets = instance.arena().tensor<int32_t>("targets");
  auto valid = instance.arena().scalar<int32_t>("num_valid");
  auto loss = instance.arena().scalar<float>("loss");
  if (!tokens || !targets || !valid || !loss)
    return fail("the program is not a training program: it has no tokens, targets, num_valid and loss");
  int64_t count = limit ? std::min(limit, batches.size()) : batches.size();
  double sum = 0;
  EvalCounts total;
  for (int64_t i = 0; i < count; ++i) {
    if (Status going = checkInterrupt("evaluating"); !going)
      return std::unexpected(going.error());
    EvalCounts counts = batches.fill(i, *tokens, *targets);
    **valid = static_cast<int32_t>(counts.targets);
    if (auto outcome = instance.run("eval_step"); !outcome)
      return std::unexpected(outcome.error());
    sum += static_cast<double>(**loss) * static_cast<double>(counts.targets);
    total.targets += counts.targets;
    total.characters += counts.characters;
  }
  EvalResult result;
  result.tokens = total.targets;
  result.loss = sum / static_cast<double>(std::max<int64_t>(total.targets, 1));
  result.bitsPerCharacter = sum / std::numbers::ln2 / static_cast<double>(std::max<int64_t>(total.characters, 1));
  return result;
}

std::string evalLine(const EvalResult &result) {
  return fmt::format("loss {:.4f}  perplexity {:.2f}  {:.4f} bits/char  ({} tokens)", result.loss, result.perplexity(),
                     result.bitsPerCharacter, result.tokens);
}

} // namespace smet::rt
