//===- AdamKernels.cpp - optimizer steps on the GPU -----------------------===//
#include "AdamKernels.h"

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

CommonOfStep::CommonOfStep(GPUBuilder &k, AdamWAttr adamw, Value lr, Value step, Val density, bool countsAge)
    : k(k), adamw(adamw), step(step), scratch(k.workspace({3}, k.b.getF32Type()).get()) {
  k.launch(k.index(1), 1, [&](Val, Val) {
    AdamEmitter::Common common = AdamEmitter::common(k, adamw, lr, step, density, countsAge);
    for (auto [i, value] : llvm::enumerate(Vals{common.rate, common.first, common.second}))
      k.store(value, scratch, {k.index(i)});
  });
}

AdamEmitter CommonOfStep::emitter() const {
  auto load = [&](int64_t i) { return k.load(scratch, {k.index(i)}); };
  return AdamEmitter(k, adamLanes, adamw, {k.load(step, {}), load(0), load(1), load(2)});
}

void smet::makeOlder(GPUBuilder &k, const CommonOfStep &common, Value age) {
  k.forEachThread(k.size(age, 0), [&](Val slot) { k.store(common.emitter().older(k.load(age, {slot})), age, {slot}); });
}

namespace {

/// Flat arrays of an optimizer step.
struct Arrays {
  Value grad, w, m, v;

  static Arrays of(GPUBuilder &k, Value grad, Value w, Value m, Value v) {
    return {k.flatten(grad).get(), k.flatten(w).get(), k.flatten(m).get(), k.flatten(v).get()};
  }
  /// Elements [at, at + lanes), one if lanes is 0.
  void update(GPUBuilder &k, AdamEmitter &adam, const AdamEmitter::Factors &factors, Val at, int64_t lanes) const {
    auto load = [&](Value array) { return k.loadPiece(array, at, lanes); };
    Val newW = load(w), newM = load(m), newV = load(v);
    adam.update(factors, load(grad), newW, newM, newV);
    adam.storeWeights(newW, at, w);
    k.storePiece(newM, m, at, lanes);
    k.storePiece(newV, v, at, lanes);
  }
};

struct AdamStepKernel : GPUKernel<AdamStepOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(AdamStepOp op, GPUBuilder &k) const final {
    if (!isF32(op.getGrad()) || !isF32OrBF16(op.getValues()) || !isF32(op.getM()) || !isF32(op.getV()))
      return failure();
    TopologyType type = op.getTopology().getType();
    CommonOfStep common(k, op.getAdamw(), op.getLr(), op.getStep(), densityFor(k, op.getAdamw(), type, op.getValues()),
                        /*countsAge=*/true);
    Arrays arrays = Arrays::of(k, op.getGrad(), op.getValues(), op.getM(), op.getV());
    Val slots = k.size(op.getValues(), 0);
    int64_t size = type.getBlockSize();
    if (size == 1)
      emitSingles(k, common, arrays, op.getAge(), slots);
    else
      emitBlocks(k, common, arrays, op.getAge(), slots, size);
    makeOlder(k, common, op.getAge());
    return success();
  }

private:
  static void emitBlocks(GPUBuilder &k, const CommonOfStep &common, const Arrays &arrays, Value age, Val slots,
                         int64_t size) {
    int64_t lanes = size % adamLanes ? 0 : adamLanes, pieces = size / std::max<int64_t>(lanes, 1);
    k.forEachThread(slots * pieces, [&](Val i) {
      AdamEmitter adam = common.emitter();
      AdamEmitter::Factors factors;
      adam.advance(k.load(age, {i / k.index(pieces)}), factors);
      arrays.update(k, adam, factors, i * k.index(size / pieces), lanes);
    });
  }

  /// Blocks of one weight: lanes are slots.
  static void emitSingles(GPUBuilder &k, const CommonOfStep &common, const Arrays &arrays, Value age, Val slots) {
    k.forEachThread((slots + (adamLanes - 1)) / k.index(adamLanes), [&](Val i) {
      AdamEmitter adam = common.emitter();
      Val begin = i * k.index(adamLanes), end = begin + k.index(adamLanes);
      k.ifElse(
          k.compare(Compare::le, end, slots),
          [&] {
            AdamEmitter::Factors factors;
            adam.advance(k.loadVector(age, {begin}, adamLanes), factors);
            arrays.update(k, adam, factors, begin, adamLanes);
          },
          [&] {
            k.loop(begin, slots, 1, [&](Val slot) {
              AdamEmitter::Factors factors;
              adam.advance(k.load(age, {slot}), factors);
              arrays.update(k, adam, factors, slot, 0);
            });
          });
    });
  }
};

struct DenseAdamStepKernel : GPUKernel<DenseAdamStepOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(DenseAdamStepOp op, GPUBuilder &k) const final {
    if (!isF32(op.getGrad()) || !isF32OrBF16(op.getW()) || !isF32(op.getM()) || !isF32(op.getV()) ||
        !cast<MemRefType>(op.getW().getType()).hasStaticShape())
      return failure();
    CommonOfStep common(k, op.getAdamw(), op.getLr(), op.getStep(), Val(), /*countsAge=*/false);
    Arrays arrays = Arrays::of(k, op.getGrad(), op.getW(), op.getM(), op.getV());
    int64_t size = cast<MemRefType>(op.getW().getType()).getNumElements();
    k.forEachPiece(size, adamLanes, [&](Val at, int64_t lanes) {
      AdamEmitter adam = common.emitter();
      arrays.update(k, adam, adam.stepFactors(), at, lanes);
    });
    return success();
  }
};

} // namespace

void smet::populateAdamGPUKernels(RewritePatternSet &patterns) {
  patterns.add<AdamStepKernel, DenseAdamStepKernel>(patterns.getContext());
}
