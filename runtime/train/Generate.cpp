//===- Generate.cpp - text from a trained model ---------------------------===//

#include "runtime/train/Generate.h"

#include "runtime/cpu/Philox.h"
#include "runtime/support/Interrupt.h"

#include <algorithm>
#include <vector>

namespace smet::rt {

/// A uniform number in [0, 1) for a position of a sample, by counter.
static double uniform(const GenerateOptions &options, int64_t position) {
  RandomSource source{RandomStream::Sampling, options.seed, static_cast<int64_t>(options.sample)};
  return static_cast<double>(randomKey(source, static_cast<uint64_t>(position)) >> 11) * 0x1p-53;
}

namespace {

struct Tensors {
  std::span<int32_t> tokens;
  int32_t *token, *position;
  std::span<float> logits;
};

} // namespace

static Expected<Tensors> findTensors(const Arena &arena) {
  auto tokens = arena.tensor<int32_t>("tokens");
  auto token = arena.scalar<int32_t>("token"), position = arena.scalar<int32_t>("position");
  auto logits = arena.tensor<float>("logits");
  if (!tokens || !token || !position || !logits)
    return fail("the program is not one that generates (compile it with --kind infer)");
  return Tensors{*tokens, *token, *position, *logits};
}

static Expected<std::vector<int32_t>> promptIds(const Tokenizer &tokenizer, std::string_view prompt, size_t context) {
  auto ids = tokenizer.encode(prompt);
  if (!ids)
    return ids;
  if (tokenizer.bos() >= 0)
    ids->insert(ids->begin(), tokenizer.bos());
  if (ids->empty())
    return fail("the prompt is empty and the tokenizer has no start token; give a --prompt");
  if (ids->size() >= context)
    return fail("the prompt has {} tokens, and the model's context only {}; shorten it", ids->size(), context);
  return ids;
}

Expected<std::string> generate(Instance &infer, const Tokenizer &tokenizer, std::string_view prompt,
                               const GenerateOptions &options) {
  auto tensors = findTensors(infer.arena());
  if (!tensors)
    return std::unexpected(tensors.error());
  size_t context =
      std::min<size_t>(infer.manifest().config.value("seq_len", tensors->tokens.size()), tensors->tokens.size());
  auto ids = promptIds(tokenizer, prompt, context);
  if (!ids)
    return std::unexpected(ids.error());
  size_t promptSize = ids->size();

  std::ranges::fill(tensors->tokens, 0);
  std::ranges::copy(*ids, tensors->tokens.begin());
  *tensors->position = static_cast<int32_t>(promptSize) - 1;
  if (auto outcome = infer.run("prefill"); !outcome)
    return std::unexpected(outcome.error());

  auto pieces = static_cast<size_t>(tokenizer.size()); // the model may have more rows than there are pieces
  auto logits = tensors->logits.first(std::min(pieces, tensors->logits.size()));
  while (true) {
    if (Status going = checkInterrupt("generating"); !going)
      return std::unexpected(going.error());
    int32_t next = sampleToken(logits, options.sampling, uniform(options, static_cast<int64_t>(ids->size())));
    if (next == tokenizer.eos())
      break;
    ids->push_back(next);
    bool full = ids->size() >= context || static_cast<int64_t>(ids->size() - promptSize) >= options.maxTokens;
    auto added = tokenizer.decode(std::span(*ids).subspan(promptSize));
    if (!added)
      return added;
    if (full || (!options.stop.empty() && added->find(options.stop) != std::string::npos))
      break;
    *tensors->token = next;
    *tensors->position = static_cast<int32_t>(ids->size()) - 1;
    if (auto outcome = infer.run("decode"); !outcome)
      return std::unexpected(outcome.error());
  }
  return tokenizer.decode(*ids);
}

} // namespace smet::rt
