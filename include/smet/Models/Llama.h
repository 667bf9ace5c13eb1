//===- Llama.h - LLaMA models as forward modules ----------------*- C++ -*-===//
//
// A Hugging Face config.json and a request (method, density, block, batch, sequence) become a module of smet and nn ops
// on `[T, F]` tensors. Only the forward is emitted; smet-differentiate and smet-build-steps make the training steps of
// it.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_MODELS_LLAMA_H
#define SMET_MODELS_LLAMA_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace smet {

/// The architecture, with the defaults of Hugging Face's LlamaConfig.
struct LlamaConfig {
  int64_t vocabSize = 32000;
  int64_t hiddenSize = 4096;
  int64_t intermediateSize = 11008;
  int64_t numLayers = 32;
  int64_t numHeads = 32;
  int64_t numKVHeads = 32;
  int64_t maxPositions = 2048; ///< longest sequence
  double rmsNormEps = 1e-6;
  double ropeTheta = 10000.0;
  double initializerRange = 0.02; ///< standard deviation of every matrix at the start
  bool tieWordEmbeddings = false;

  int64_t headDim() const { return hiddenSize / numHeads; }

  /// Reads the object of a config.json; also the older key `max_sequence_length` and the architecture name
  /// `LLaMAForCausalLM`. The error lists everything wrong, a line each: keys of the wrong type, keys that change the
  /// maths in a way that is not implemented, unknown keys, and what `check` finds.
  static llvm::Expected<LlamaConfig> parse(const llvm::json::Object &json);

  /// Whether the sizes fit each other: all positive, heads divide hidden, kv heads divide heads, even head size.
  llvm::Error check() const;

  /// The object of a config.json that `parse` reads back.
  llvm::json::Object toJSON() const;
};

enum class Method { Smet, Static, Dense };
enum class ProgramKind { Train, Infer };
/// How activations and the values of sparse layers are stored. Everything is computed in f32; the optimizer's moments
/// and the dense parameters (embedding, lm_head, norms) are f32 always.
enum class DType { F32, BF16 };

/// Hyperparameters of the optimizer step (#smet.adamw).
struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0.0;
  bool lrScaling = true; ///< learning rate of a layer of density d times 1 / sqrt(d)
};

/// What to build.
struct ModelRequest {
  LlamaConfig model;
  ProgramKind kind = ProgramKind::Train;
  Method method = Method::Smet;
  double density = 0.1;                   ///< of sparse layers, in (0, 1]
  int64_t blockRows = 16, blockCols = 16; ///< of sparse layers
  int64_t batch = 8;                      ///< sequences in a training step; inference runs one
  int64_t seqLen = 128;                   ///< tokens in a sequence (inference: the capacity of the KV cache)
  DType dtype = DType::F32;               ///< of activations and of the values of sparse layers
  int64_t warmupUpdates = 10;             ///< optimizer steps over which a regrown block's learning rate rises
  AdamWOptions adamw;

  /// Sequences are padded to a multiple of this, so that a token tile never straddles two of them.
  static constexpr int64_t sequenceMultiple = 64;
  int64_t paddedSeqLen() const { return (seqLen + sequenceMultiple - 1) / sequenceMultiple * sequenceMultiple; }
};

/// A parameter of the model. Its place in the list is its layer id, the key of its random numbers, which is the same
/// for every method.
struct LlamaParameter {
  std::string name;           ///< as in Hugging Face checkpoints
  std::vector<int64_t> shape; ///< of the dense matrix or vector
  bool sparse = false;        ///< q, k, v, o, gate, up and down, unless the method is dense
  int64_t nnz = 0; ///< active blocks of a sparse one: round(density * blocks), the same density in every layer
};

/// The parameters in their order. An error names the first thing that does not fit: sizes of the model, density outside
/// (0, 1] or leaving a layer without a block, a block that does not divide a sparse layer (with the nearest ones that
/// divide all), a sequence longer than the model's.
llvm::Expected<std::vector<LlamaParameter>> llamaParameters(const ModelRequest &request);

/// The forward module.
///
/// Train: `@forward(parameters, topologies, tokens, targets, num_valid) -> loss`, all sequences of the batch one after
/// the other. Infer: `@prefill(parameters, topologies, tokens, position) -> (logits, caches)` and
/// `@decode(parameters, topologies, token, position, caches) -> (logits, caches)`. Arguments and results carry the
/// attributes of smet/Dialect/Smet/IR/Names.h, the module optimizer, growth and configuration.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> buildLlama(mlir::MLIRContext *context, const ModelRequest &request);

llvm::StringRef stringify(Method method);
llvm::StringRef stringify(ProgramKind kind);
llvm::StringRef stringify(DType dtype);

} // namespace smet

#endif // SMET_MODELS_LLAMA_H
