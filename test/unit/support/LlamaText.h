//===- LlamaText.h - a model's entry points as text -------------*- C++ -*-===//
//
// The compiler's front half without its headers (see CompileText.h).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_SUPPORT_LLAMATEXT_H
#define SMET_TEST_UNIT_SUPPORT_LLAMATEXT_H

#include <cstdint>
#include <string>

namespace smet::test {

struct LlamaSpec {
  std::string config; ///< the text of a config.json
  bool infer = false, dense = false;
  double density = 0.1;
  int64_t blockRows = 16, blockCols = 16;
  int64_t batch = 1, seqLen = 64;
};

/// The entry points `eval_step` and `gradients`, or for inference `prefill` and `decode`. What is wrong with the spec comes instead of a module; it does not
/// parse.
std::string llamaText(const LlamaSpec &spec);

} // namespace smet::test

#endif // SMET_TEST_UNIT_SUPPORT_LLAMATEXT_H
