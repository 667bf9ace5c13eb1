//===- Adam.h - the optimizer's formula ------------------------*- C++ -*-===//
#ifndef SMET_CONVERSION_ADAM_H
#define SMET_CONVERSION_ADAM_H

#include "smet/Conversion/KernelBuilder.h"
#include "smet/Dialect/Smet/IR/Smet.h"

namespace smet {

/// Emits the update of smet.adam_step. Every function works on scalars and on vectors (one lane a weight) with the same
/// operations, so a result does not depend on which of both computed it.
class AdamEmitter {
public:
  /// What is the same for all weights: the step (i64), the learning rate, and 1 / (1 - b^step) of both betas (f32).
  struct Common {
    Val step, rate, first, second;
  };
  /// `lr` and `step` are rank-0 memrefs. `density` (f64) scales the learning rate, if given.
  static Common common(KernelBuilder &k, AdamWAttr adamw, mlir::Value lr, mlir::Value step, Val density,
                       bool countsAge);

  /// Vectors have `lanes` lanes.
  AdamEmitter(KernelBuilder &k, int64_t lanes, AdamWAttr adamw, const Common &common)
      : k(k), adamw(adamw), lanes(lanes), ofStep(common) {}

  /// What the age of a weight decides: 1 / (1 - b1^a), 1 / (1 - b2^a) and the learning rate.
  struct Factors {
    Val first, second, rate;
  };
  /// Factors of a dense parameter: a is the step.
  Factors stepFactors() const { return {ofStep.first, ofStep.second, ofStep.rate}; }
  /// Ages (i16; scalar or vector) one step later.
  Val older(Val age);
  /// The same, and stores the factors in `factors`.
  Val advance(Val age, Factors &factors);
  /// Updates w, m, v given the gradient.
  void update(const Factors &factors, Val gradient, Val &w, Val &m, Val &v);

  /// Updates `size` elements from `offset` of flat arrays, all with the same factors. gradient(i, lanes) loads
  /// gradients of the elements from offset + i, a scalar if lanes is 0.
  void updateRange(const Factors &factors, int64_t size, Val offset, llvm::function_ref<Val(Val, int64_t)> gradient,
                   mlir::Value w, mlir::Value m, mlir::Value v);
  /// One slot of a layer (flat arrays, one age a slot).
  void updateSlot(Val slot, int64_t size, llvm::function_ref<Val(Val, int64_t)> gradient, mlir::Value w, mlir::Value m,
                  mlir::Value v, mlir::Value age);
  /// Slots [begin, end) of blocks of one weight: lanes are slots. gradient(slot, lanes).
  void updateSingles(Val begin, Val end, llvm::function_ref<Val(Val, int64_t)> gradient, mlir::Value w, mlir::Value m,
                     mlir::Value v, mlir::Value age);

  /// Stores new weights from element `at` on; to bf16 rounded at random.
  void storeWeights(Val weights, Val at, mlir::Value w);

private:
  /// 32 random bits for each element of an array from `at` on: a hash of the step and the element's index.
  Val randomBits(Val at, mlir::Type like);

  KernelBuilder &k;
  AdamWAttr adamw;
  int64_t lanes;
  Common ofStep;
};

/// nnz / blocks in double, or nothing if the learning rate is not scaled.
Val densityFor(KernelBuilder &k, AdamWAttr adamw, TopologyType type, mlir::Value values);

} // namespace smet

#endif // SMET_CONVERSION_ADAM_H
