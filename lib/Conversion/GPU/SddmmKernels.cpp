//===- SddmmKernels.cpp - SDDMM, alone and with the optimizer -------------===//
//
// By SIMT, where tensor cores do not serve, a warp has a part of a block of at most 4 x 4 weights: its lanes go over
// the tokens, 16 bytes of each row, with the part's products in registers, and their sums meet by shuffles. Then a lane
// has a weight. Its gradient goes to memory or straight into the optimizer.
//
//===----------------------------------------------------------------------===//
#include "AdamKernels.h"
#include "Sddmm.h"
#include "TensorCores.h"

using namespace mlir;
using namespace smet;

namespace {

using Compare = KernelBuilder::Compare;

class SimtSddmm {
public:
  SimtSddmm(GPUBuilder &k, const Sddmm &sddmm)
      : k(k), type(sddmm.type), walk(sddmm.walk), x(sddmm.x), dy(sddmm.dy), rows(divisorUpTo(type.getBlockRows(), 4)),
        columns(divisorUpTo(type.getBlockCols(), 4)) {}

  void emit(Val slots, TakeGradient take) const {
    int64_t across = type.getBlockCols() / columns, parts = type.getBlockRows() / rows * across;
    k.forEachWarp(slots * parts, [&](Val item, Val lane) {
      Val slot = item / k.index(parts), part = item % k.index(parts);
      Val r0 = part / k.index(across) * k.index(rows), c0 = part % k.index(across) * k.index(columns);
      Val gradient = ofLane(sums(slot, r0, c0, lane), lane);
      k.ifThen(k.compare(Compare::lt, lane, k.index(rows * columns)), [&] {
        Val r = r0 + lane / k.index(columns), c = c0 + lane % k.index(columns);
        take(slot, (slot * k.index(type.getBlockRows()) + r) * k.index(type.getBlockCols()) + c, gradient);
      });
    });
  }

private:
  /// The sums of a part over all tokens, in every lane.
  Vals sums(Val slot, Val r0, Val c0, Val lane) const {
    int64_t width = widestLoad * 8 / cast<MemRefType>(x.memref.getType()).getElementTypeBitWidth();
    Val row = walk.segmentOf(k, slot) * k.index(type.getBlockRows()) + r0;
    Val column = walk.coordinate(k, slot) * k.index(type.getBlockCols()) + c0;
    Vals sums(rows * columns, k.zero(k.vectorOf(sumWidth, k.b.getF32Type())));
    sums = k.loop(lane * k.index(width), k.index(x.tokens), warpSize * width, sums, [&](Val token, Vals sums) -> Vals {
      SmallVector<Vals> xs;
      for (int64_t c = 0; c < columns; ++c)
        xs.push_back(parts(x.load(k, column + k.index(c), token, width)));
      for (int64_t r = 0; r < rows; ++r)
        for (auto [part, dys] : llvm::enumerate(parts(dy.load(k, row + k.index(r), token, width))))
          for (int64_t c = 0; c < columns; ++c)
            sums[r * columns + c] = k.fma(dys, xs[c][part], sums[r * columns + c]);
      return sums;
    });
    return llvm::map_to_vector(sums, [&](Val sum) { return k.warpSum(k.sum(sum)); });
  }

  /// What a lane loads, in vectors as wide as its sums: of bf16 it has two, which would not fit as sums of their own.
  Vals parts(Val loaded) const {
    int64_t width = cast<VectorType>(loaded.type()).getNumElements();
    if (width == sumWidth)
      return {loaded};
    return {k.shuffle(loaded, loaded, {0, 1, 2, 3}), k.shuffle(loaded, loaded, {4, 5, 6, 7})};
  }

  Val ofLane(const Vals &sums, Val lane) const {
    Val mine = sums[0];
    for (size_t i = 1; i < sums.size(); ++i)
      mine = k.select(k.compare(Compare::eq, lane, k.index(i)), sums[i], mine);
    return mine;
  }

  static constexpr int64_t sumWidth = 4;
  GPUBuilder &k;
  TopologyType type;
  Walk walk;
  Activation x, dy;
  int64_t rows, columns; ///< of a part
};

/// A launch of take(slot, at, gradient), on what serves best.
void takeGradients(GPUBuilder &k, const Sddmm &sddmm, Val slots, TakeGradient take) {
  if (fitsTensorCores(sddmm.type, {sddmm.x.memref, sddmm.dy.memref}, sddmm.x.tokens))
    sddmmOnTensorCores(k, sddmm, slots, take);
  else
    SimtSddmm(k, sddmm).emit(slots, take);
}

int64_t lanesOf(Val gradient) {
  auto vector = dyn_cast<VectorType>(gradient.type());
  return vector ? vector.getNumElements() : 0;
}

struct SddmmKernel : GPUKernel<SddmmOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(SddmmOp op, GPUBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    Activation x = Activation::of(op.getX()), dy = Activation::of(op.getDy());
    if (failed(arrays) || !x || !dy || !isF32OrBF16(op.getDvalues()))
      return failure();
    TopologyType type = op.getTopology().getType();
    Value dw = k.flatten(op.getDvalues()).get();
    takeGradients(k, {type, rowWalk(type, *arrays), x, dy}, k.size(op.getDvalues(), 0), [&](Val, Val at, Val gradient) {
      int64_t lanes = lanesOf(gradient);
      k.storePiece(op.getAccumulate() ? gradient + k.loadPiece(dw, at, lanes) : gradient, dw, at, lanes);
    });
    return success();
  }
};

struct SddmmAdamKernel : GPUKernel<SddmmAdamOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(SddmmAdamOp op, GPUBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    Activation x = Activation::of(op.getX()), dy = Activation::of(op.getDy());
    if (failed(arrays) || !x || !dy || !isF32OrBF16(op.getValues()) || !isF32(op.getM()) || !isF32(op.getV()))
      return failure();
    TopologyType type = op.getTopology().getType();
    CommonOfStep common(k, op.getAdamw(), op.getLr(), op.getStep(), densityFor(k, op.getAdamw(), type, op.getValues()),
                        /*countsAge=*/true);
    Value w = k.flatten(op.getValues()).get(), m = k.flatten(op.getM()).get(), v = k.flatten(op.getV()).get();
    takeGradients(k, {type, rowWalk(type, *arrays), x, dy}, k.size(op.getValues(), 0),
                  [&](Val slot, Val at, Val gradient) {
                    int64_t lanes = lanesOf(gradient);
                    AdamEmitter adam = common.emitter();
                    AdamEmitter::Factors factors;
                    adam.advance(k.load(op.getAge(), {slot}), factors);
                    auto load = [&](Value array) { return k.loadPiece(array, at, lanes); };
                    Val newW = load(w), newM = load(m), newV = load(v);
                    adam.update(factors, gradient, newW, newM, newV);
                    adam.storeWeights(newW, at, w);
                    k.storePiece(newM, m, at, lanes);
                    k.storePiece(newV, v, at, lanes);
                  });
    makeOlder(k, common, op.getAge());
    return success();
  }
};

} // namespace

void smet::populateSddmmGPUKernels(RewritePatternSet &patterns) {
  patterns.add<SddmmKernel, SddmmAdamKernel>(patterns.getContext());
}
