//===- SparseKernelsSddmm.cpp - SDDMM, alone and with the optimizer -------===//
#include "SparseKernelAttr.h"
#include "SparseSddmmEmitter.h"
#include "smet/Conversion/Adam.h"

using namespace mlir;
using namespace smet;

namespace {

/// Gradients between SDDMM and the optimizer are kept in scratch of this many floats, at most: larger layers are taken
/// in parts, each of which reads the activations again.
constexpr int64_t maxScratch = 1 << 19;
/// Gradients that an item of work zeroes, about.
constexpr int64_t itemGradients = 1 << 14;

/// Whether a tile of dot products can be reduced: sums of four rows are stored together.
bool supported(const CPUTarget &target, Value x, Value dy) {
  return isPacked(x) && isPacked(dy) && lanesFor(target, cast<MemRefType>(x.getType()).getDimSize(2)) >= 4;
}

void fillZero(KernelBuilder &k, const CPUTarget &target, Value flat, Val count) {
  int64_t lanes = target.vectorBits / 32;
  parallelPieces(k, count, itemGradients, [&](Val begin, Val end) {
    k.vectorLoop(
        begin, end, lanes, [&](Val i) { k.storeVector(k.zero(k.vectorOf(lanes, k.b.getF32Type())), flat, {i}); },
        [&](Val i) { k.store(0, flat, {i}); });
  });
}

struct SddmmKernel : CPUKernel<SddmmOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(SddmmOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !supported(target, op.getX(), op.getDy()) || !isF32(op.getDvalues()))
      return failure();
    TopologyType type = op.getTopology().getType();
    int64_t size = type.getBlockSize();
    Value dvalues = k.flatten(op.getDvalues()).get();
    Val nnz = k.size(op.getDvalues(), 0);
    SddmmEmitter emitter(k, target, type, *arrays, op.getX(), op.getDy(), nnz, sddmmChoice(op, target));
    if (!op.getAccumulate())
      fillZero(k, target, dvalues, nnz * size);
    emitter.add(k.index(0), nnz, {dvalues, [&](Val entry) { return emitter.walk().slot(k, entry) * size; }});
    return success();
  }
};

struct SddmmAdamKernel : CPUKernel<SddmmAdamOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(SddmmAdamOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !supported(target, op.getX(), op.getDy()) || !isF32OrBF16(op.getValues()) ||
        !isF32(op.getM()) || !isF32(op.getV()))
      return failure();
    TopologyType type = op.getTopology().getType();
    int64_t size = type.getBlockSize();
    // A quarter of the weights at most, so that this is no dense gradient of a small layer.
    int64_t part = std::max<int64_t>(std::min(maxScratch / size, type.getNumBlocks() / 4), 1);
    Value scratch = k.workspace({part * size}, k.b.getF32Type()).get();
    Val nnz = k.size(op.getValues(), 0);
    SddmmEmitter emitter(k, target, type, *arrays, op.getX(), op.getDy(), nnz, sddmmChoice(op, target));
    k.loop(0, nnz, part, [&](Val begin) {
      Val end = k.min(begin + part, nnz);
      fillZero(k, target, scratch, (end - begin) * size);
      emitter.add(begin, end, {scratch, [&](Val entry) { return (entry - begin) * size; }});
      optimize(op, k, emitter.walk(), scratch, begin, end);
    });
    return success();
  }

private:
  /// One optimizer step on the entries [begin, end), whose gradients are in `scratch`.
  void optimize(SddmmAdamOp op, KernelBuilder &k, const Walk &walk, Value scratch, Val begin, Val end) const {
    TopologyType type = op.getTopology().getType();
    int64_t size = type.getBlockSize();
    Value w = k.flatten(op.getValues()).get(), m = k.flatten(op.getM()).get(), v = k.flatten(op.getV()).get(),
          age = op.getAge();
    AdamEmitter adam(k, target.vectorBits / 32, op.getAdamw(),
                     AdamEmitter::common(k, op.getAdamw(), op.getLr(), op.getStep(),
                                         densityFor(k, op.getAdamw(), type, op.getValues()), /*countsAge=*/true));
    auto load = [&](Val at, int64_t lanes) {
      return lanes ? k.loadVector(scratch, {at}, lanes) : k.load(scratch, {at});
    };
    parallelPieces(k, end - begin, std::max<int64_t>(itemGradients / 2 / size, 1), [&](Val pieceBegin, Val pieceEnd) {
      if (size == 1)
        return adam.updateSingles(
            begin + pieceBegin, begin + pieceEnd, [&](Val slot, int64_t lanes) { return load(slot - begin, lanes); }, w,
            m, v, age);
      k.loop(pieceBegin, pieceEnd, 1, [&](Val place) {
        auto gradient = [&](Val i, int64_t lanes) { return load(place * size + i, lanes); };
        adam.updateSlot(walk.slot(k, begin + place), size, gradient, w, m, v, age);
      });
    });
  }
};

} // namespace

void smet::populateSddmmKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<SddmmKernel, SddmmAdamKernel>(patterns.getContext(), target);
}
