//===- SparseKernelsAdam.cpp - optimizer steps ----------------------------===//
#include "SparseKernels.h"
#include "smet/Conversion/Adam.h"

using namespace mlir;
using namespace smet;

/// Weights that one item of work covers, about.
static constexpr int64_t itemWeights = 8192;

namespace {

struct AdamStepKernel : CPUKernel<AdamStepOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(AdamStepOp op, KernelBuilder &k) const final {
    if (!isF32(op.getGrad()) || !isF32OrBF16(op.getValues()) || !isF32(op.getM()) || !isF32(op.getV()))
      return failure();
    TopologyType type = op.getTopology().getType();
    AdamEmitter adam(k, target.vectorBits / 32, op.getAdamw(),
                     AdamEmitter::common(k, op.getAdamw(), op.getLr(), op.getStep(),
                                         densityFor(k, op.getAdamw(), type, op.getValues()), /*countsAge=*/true));
    int64_t size = type.getBlockSize();
    Value grad = k.flatten(op.getGrad()).get(), w = k.flatten(op.getValues()).get(), m = k.flatten(op.getM()).get(),
          v = k.flatten(op.getV()).get(), age = op.getAge();
    auto load = [&](Val at, int64_t lanes) { return lanes ? k.loadVector(grad, {at}, lanes) : k.load(grad, {at}); };
    parallelPieces(k, k.size(op.getValues(), 0), std::max<int64_t>(itemWeights / size, 1), [&](Val begin, Val end) {
      if (size == 1)
        return adam.updateSingles(begin, end, load, w, m, v, age);
      k.loop(begin, end, 1, [&](Val slot) {
        auto gradient = [&](Val i, int64_t lanes) { return load(slot * size + i, lanes); };
        adam.updateSlot(slot, size, gradient, w, m, v, age);
      });
    });
    return success();
  }
};

struct DenseAdamStepKernel : CPUKernel<DenseAdamStepOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(DenseAdamStepOp op, KernelBuilder &k) const final {
    if (!isF32(op.getGrad()) || !isF32OrBF16(op.getW()) || !isF32(op.getM()) || !isF32(op.getV()) ||
        !cast<MemRefType>(op.getW().getType()).hasStaticShape())
      return failure();
    AdamEmitter adam(k, target.vectorBits / 32, op.getAdamw(),
                     AdamEmitter::common(k, op.getAdamw(), op.getLr(), op.getStep(), Val(), /*countsAge=*/false));
    AdamEmitter::Factors factors = adam.stepFactors();
    Value grad = k.flatten(op.getGrad()).get(), w = k.flatten(op.getW()).get(), m = k.flatten(op.getM()).get(),
          v = k.flatten(op.getV()).get();
    int64_t size = cast<MemRefType>(w.getType()).getDimSize(0), full = size / itemWeights;
    auto range = [&](Val offset, int64_t count) {
      auto load = [&](Val i, int64_t lanes) {
        return lanes ? k.loadVector(grad, {offset + i}, lanes) : k.load(grad, {offset + i});
      };
      adam.updateRange(factors, count, offset, load, w, m, v);
    };
    if (full)
      k.parallel(full, [&](Val item) { range(item * itemWeights, itemWeights); });
    if (size % itemWeights)
      k.parallel(1, [&](Val) { range(k.index(full * itemWeights), size % itemWeights); });
    return success();
  }
};

} // namespace

void smet::populateAdamKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<AdamStepKernel, DenseAdamStepKernel>(patterns.getContext(), target);
}
