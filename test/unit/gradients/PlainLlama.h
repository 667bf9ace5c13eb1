//===- PlainLlama.h - a LLaMA in plain loops --------------------*- C++ -*-===//
//
// Loss and gradients of a LLaMA model in double, written from the published definitions with plain loops over dense
// matrices. It shares no code with the compiler or the runtime and is the independent expectation of their gradients;
// OracleTest checks it against finite differences. A masked weight is a dense matrix with zeros: its gradient at the
// active entries is the masked layer's gradient.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_GRADIENTS_PLAINLLAMA_H
#define SMET_TEST_UNIT_GRADIENTS_PLAINLLAMA_H

#include <map>
#include <string>
#include <vector>

namespace smet::test {

using Numbers = std::vector<double>;

struct PlainLlama {
  int vocab, hidden, ffn, layers, heads, kvHeads;
  double eps = 1e-6, theta = 10000;
  bool tied = false;
  std::map<std::string, Numbers> weights; ///< by Hugging Face name; matrices row-major [out, in]

  int headDim() const { return hidden / heads; }
  std::string head() const { return tied ? "model.embed_tokens.weight" : "lm_head.weight"; }
  /// Name and shape of every parameter.
  std::map<std::string, std::vector<int>> shapes() const;

  /// Mean cross-entropy over the tokens with target >= 0. `tokens` holds sequences of `seqLen` one after the other.
  /// With `gradients`, adds the gradient of every parameter to it.
  double loss(const std::vector<int> &tokens, const std::vector<int> &targets, int seqLen,
              std::map<std::string, Numbers> *gradients = nullptr) const;
  /// Logits of the token after each prefix of one sequence, [tokens][vocab].
  Numbers logits(const std::vector<int> &tokens) const;
};

} // namespace smet::test

#endif // SMET_TEST_UNIT_GRADIENTS_PLAINLLAMA_H
