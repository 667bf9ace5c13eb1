//===- SpmmKernels.cpp - SpMM, by SIMT where tensor cores do not serve ----===//
//
// By SIMT, lanes of a warp are tokens, 16 bytes of each row; a warp keeps some rows of a block row in registers while
// it walks entries.
//
//===----------------------------------------------------------------------===//
#include "Spmm.h"
#include "TensorCores.h"

#include <numeric>

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

ChunkedSpmm::ChunkedSpmm(GPUBuilder &k, SpmmOp op, const TopologyArrays &arrays)
    : k(k), type(op.getTopology().getType()), transpose(op.getTranspose()), accumulate(op.getAccumulate()),
      walk(transpose ? columnWalk(type, arrays) : rowWalk(type, arrays)), x(Activation::of(op.getX())),
      y(Activation::of(op.getY())), values(op.getValues()),
      outer(transpose ? type.getBlockCols() : type.getBlockRows()),
      inner(transpose ? type.getBlockRows() : type.getBlockCols()), chunks(std::clamp<int64_t>(512 / outer, 32, 512)),
      carries(k.workspace({chunks, outer, y.tokens}, k.b.getF32Type()).get()), nnz(k.size(values, 0)),
      // At least one, so that no division is by zero.
      perChunk(k.max((nnz + (chunks - 1)) / k.index(chunks), k.index(1))) {}

std::pair<Val, Val> ChunkedSpmm::entriesOf(Val chunk) const {
  Val begin = chunk * perChunk;
  return {begin, k.min(begin + perChunk, nnz)};
}

void ChunkedSpmm::storeSum(Val sum, Val segment, Val row, Val token) const {
  Val feature = segment * k.index(outer) + row;
  int64_t count = cast<VectorType>(sum.type()).getNumElements();
  y.store(k, accumulate ? sum + y.load(k, feature, token, count) : sum, feature, token);
}

void ChunkedSpmm::addCarries() const {
  int64_t width = widestLoad * 8 / cast<MemRefType>(y.memref.getType()).getElementTypeBitWidth();
  int64_t strips = llvm::divideCeil(y.tokens, width * warpSize);
  k.forEachWarp(k.index(walk.segments * outer * strips), [&](Val item, Val lane) {
    Val strip = item % k.index(strips), feature = item / k.index(strips);
    Val segment = feature / k.index(outer), row = feature % k.index(outer);
    Val token = (strip * k.index(warpSize) + lane) * k.index(width);
    Val begin = walk.begin(k, segment), end = walk.end(k, segment);
    k.ifThen(k.compare(Compare::lt, token, k.index(y.tokens)), [&] {
      k.ifElse(
          k.compare(Compare::eq, begin, end),
          [&] {
            if (!accumulate)
              y.store(k, k.zero(k.vectorOf(width, k.b.getF32Type())), feature, token);
          },
          [&] {
            Val from = begin / perChunk + 1, to = (end - 1) / perChunk + 1;
            k.ifThen(k.compare(Compare::lt, from, to), [&] {
              Val sum = k.loop(from, to, 1, {y.load(k, feature, token, width)}, [&](Val chunk, Vals sum) -> Vals {
                return {sum[0] + k.loadVector(carries, {chunk, row, token}, width)};
              })[0];
              y.store(k, sum, feature, token);
            });
          });
    });
  });
}

//===----------------------------------------------------------------------===//
// SIMT
//===----------------------------------------------------------------------===//

namespace {

class SimtSpmm {
public:
  explicit SimtSpmm(const ChunkedSpmm &spmm)
      : spmm(spmm), k(spmm.k),
        width(widestLoad * 8 / cast<MemRefType>(spmm.x.memref.getType()).getElementTypeBitWidth()),
        group(divisorUpTo(spmm.outer, 8)), step(std::gcd(spmm.inner, group == 1 ? 8 : 16 / width)) {}

  void emit() const {
    int64_t strips = llvm::divideCeil(spmm.x.tokens, width * warpSize), groups = spmm.outer / group;
    k.forEachWarp(k.index(spmm.chunks * groups * strips), [&](Val item, Val lane) {
      Val strip = item % k.index(strips), rest = item / k.index(strips);
      Val first = rest % k.index(groups) * k.index(group), chunk = rest / k.index(groups);
      auto [begin, end] = spmm.entriesOf(chunk);
      Val token = (strip * k.index(warpSize) + lane) * k.index(width);
      Val isInside = k.compare(Compare::lt, token, k.index(spmm.x.tokens));
      k.ifThen(k.bitAnd(isInside, k.compare(Compare::lt, begin, end)),
               [&] { emitChunk(chunk, begin, end, first, token); });
    });
  }

private:
  void emitChunk(Val chunk, Val begin, Val end, Val first, Val token) const {
    const Walk &walk = spmm.walk;
    Val last = walk.segmentOf(k, end - 1);
    k.loop(walk.segmentOf(k, begin), last + 1, 1, [&](Val segment) {
      Val from = k.max(walk.begin(k, segment), begin), to = k.min(walk.end(k, segment), end);
      Vals sums(group, k.zero(k.vectorOf(width, k.b.getF32Type())));
      sums = k.loop(from, to, 1, sums, [&](Val entry, Vals sums) -> Vals {
        Val slot = walk.slot(k, entry), feature = walk.coordinate(k, entry) * k.index(spmm.inner);
        return k.loop(0, spmm.inner, step, sums, [&](Val i, Vals sums) -> Vals {
          Vals weights = loadWeights(slot, first, i);
          for (int64_t j = 0; j < step; ++j) {
            Val vector = spmm.x.load(k, feature + i + k.index(j), token, width);
            for (int64_t r = 0; r < group; ++r)
              sums[r] = k.fma(weights[j * group + r], vector, sums[r]);
          }
          return sums;
        });
      });
      k.ifElse(
          spmm.isCarry(segment, begin),
          [&] {
            for (auto [r, sum] : llvm::enumerate(sums))
              spmm.storeCarry(sum, chunk, first + k.index(r), token);
          },
          [&] {
            for (auto [r, sum] : llvm::enumerate(sums))
              spmm.storeSum(sum, segment, first + k.index(r), token);
          });
    });
  }

  /// The weights of `step` features, of each those of the group's rows. Neighbours in memory are loaded together:
  /// features of a row of W, rows of a feature of its spmm.transpose.
  Vals loadWeights(Val slot, Val first, Val i) const {
    int64_t bits = cast<MemRefType>(spmm.values.getType()).getElementTypeBitWidth();
    int64_t lines = spmm.transpose ? step : group, length = spmm.transpose ? group : step;
    int64_t lanes = std::gcd(length, widestLoad * 8 / bits);
    Vals weights(step * group);
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t at = 0; at < length; at += lanes) {
        Val row = first + k.index(spmm.transpose ? at : line), feature = i + k.index(spmm.transpose ? line : at);
        Vals place = spmm.transpose ? Vals{slot, feature, row} : Vals{slot, row, feature};
        Val loaded = lanes == 1 ? k.load(spmm.values, place) : k.loadVector(spmm.values, place, lanes);
        for (int64_t lane = 0; lane < lanes; ++lane)
          weights[spmm.transpose ? line * group + at + lane : (at + lane) * group + line] =
              lanes == 1 ? loaded : k.extract(loaded, lane);
      }
    return weights;
  }

  const ChunkedSpmm &spmm;
  GPUBuilder &k;
  int64_t width;       ///< elements of a load
  int64_t group, step; ///< rows of a block row that a warp has at a time, features that it then loads
};

struct SpmmKernel : GPUKernel<SpmmOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(SpmmOp op, GPUBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32OrBF16(op.getValues()) || !Activation::of(op.getX()) || !Activation::of(op.getY()))
      return failure();
    ChunkedSpmm spmm(k, op, *arrays);
    if (fitsTensorCores(spmm.type, {spmm.values, spmm.x.memref}, spmm.x.tokens))
      multiplyOnTensorCores(spmm);
    else
      SimtSpmm(spmm).emit();
    spmm.addCarries();
    return success();
  }
};

} // namespace

void smet::populateSpmmGPUKernels(RewritePatternSet &patterns) { patterns.add<SpmmKernel>(patterns.getContext()); }
