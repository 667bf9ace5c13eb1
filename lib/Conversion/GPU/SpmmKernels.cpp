//===- SpmmKernels.cpp - SpMM by SIMT -------------------------------------===//
//
// Lanes of a warp are tokens, 16 bytes of each row; a warp keeps some rows of a block row in registers while it walks
// entries. Entries are cut into chunks of one size, whatever rows they belong to, so that a long row does not stall the
// grid. A row that begins in a chunk is stored; the sum of one that came from an earlier chunk goes to scratch, and a
// second launch adds these to their rows, chunks in order.
//
//===----------------------------------------------------------------------===//
#include "GPUKernel.h"

#include "smet/Conversion/Topology.h"

#include <numeric>

using namespace mlir;
using namespace smet;

namespace {

using Compare = KernelBuilder::Compare;

/// One product y = x Wᵀ, or y = x W by the transposed index.
class Spmm {
public:
  Spmm(GPUBuilder &k, SpmmOp op, const TopologyArrays &arrays)
      : k(k), type(op.getTopology().getType()), transpose(op.getTranspose()), accumulate(op.getAccumulate()),
        walk(transpose ? columnWalk(type, arrays) : rowWalk(type, arrays)), x(Activation::of(op.getX())),
        y(Activation::of(op.getY())), values(op.getValues()),
        outer(transpose ? type.getBlockCols() : type.getBlockRows()),
        inner(transpose ? type.getBlockRows() : type.getBlockCols()),
        width(widestLoad * 8 / cast<MemRefType>(x.memref.getType()).getElementTypeBitWidth()),
        strips(llvm::divideCeil(x.tokens, width * warpSize)), group(divisorUpTo(outer, 8)),
        step(std::gcd(inner, group == 1 ? 8 : 16 / width)), chunks(std::clamp<int64_t>(512 / outer, 32, 512)) {}

  void emit() {
    Type f32 = k.b.getF32Type();
    Val nnz = k.size(values, 0);
    // At least one, so that no division is by zero.
    Val perChunk = (nnz + (chunks - 1)) / k.index(chunks);
    perChunk = k.max(perChunk, k.index(1));
    carries = k.workspace({chunks, outer, y.tokens}, f32).get();
    k.forEachWarp(k.index(chunks * (outer / group) * strips), [&](Val item, Val lane) {
      Val strip = item % k.index(strips), rest = item / k.index(strips);
      Val first = rest % k.index(outer / group) * k.index(group), chunk = rest / k.index(outer / group);
      Val begin = chunk * perChunk, end = k.min(begin + perChunk, nnz);
      Val token = (strip * k.index(warpSize) + lane) * k.index(width);
      Val isInside = k.compare(Compare::lt, token, k.index(x.tokens));
      k.ifThen(k.bitAnd(isInside, k.compare(Compare::lt, begin, end)),
               [&] { emitChunk(chunk, begin, end, first, token); });
    });
    emitCarries(perChunk);
  }

private:
  void emitChunk(Val chunk, Val begin, Val end, Val first, Val token) const {
    Val last = walk.segmentOf(k, end - 1);
    k.loop(walk.segmentOf(k, begin), last + 1, 1, [&](Val segment) {
      Val from = k.max(walk.begin(k, segment), begin), to = k.min(walk.end(k, segment), end);
      Vals sums(group, k.zero(k.vectorOf(width, k.b.getF32Type())));
      sums = k.loop(from, to, 1, sums, [&](Val entry, Vals sums) -> Vals {
        Val slot = walk.slot(k, entry), feature = walk.coordinate(k, entry) * k.index(inner);
        return k.loop(0, inner, step, sums, [&](Val i, Vals sums) -> Vals {
          Vals weights = loadWeights(slot, first, i);
          for (int64_t j = 0; j < step; ++j) {
            Val vector = x.load(k, feature + i + k.index(j), token, width);
            for (int64_t r = 0; r < group; ++r)
              sums[r] = k.fma(weights[j * group + r], vector, sums[r]);
          }
          return sums;
        });
      });
      k.ifElse(
          k.compare(Compare::lt, walk.begin(k, segment), begin),
          [&] {
            for (auto [r, sum] : llvm::enumerate(sums))
              k.storeVector(sum, carries, {chunk, first + k.index(r), token});
          },
          [&] {
            for (auto [r, sum] : llvm::enumerate(sums)) {
              Val feature = segment * k.index(outer) + first + k.index(r);
              y.store(k, accumulate ? sum + y.load(k, feature, token, width) : sum, feature, token);
            }
          });
    });
  }

  /// The weights of `step` features, of each those of the group's rows. Neighbours in memory are loaded together:
  /// features of a row of W, rows of a feature of its transpose.
  Vals loadWeights(Val slot, Val first, Val i) const {
    int64_t bits = cast<MemRefType>(values.getType()).getElementTypeBitWidth();
    int64_t lines = transpose ? step : group, length = transpose ? group : step;
    int64_t lanes = std::gcd(length, widestLoad * 8 / bits);
    Vals weights(step * group);
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t at = 0; at < length; at += lanes) {
        Val row = first + k.index(transpose ? at : line), feature = i + k.index(transpose ? line : at);
        Vals place = transpose ? Vals{slot, feature, row} : Vals{slot, row, feature};
        Val loaded = lanes == 1 ? k.load(values, place) : k.loadVector(values, place, lanes);
        for (int64_t lane = 0; lane < lanes; ++lane)
          weights[transpose ? line * group + at + lane : (at + lane) * group + line] =
              lanes == 1 ? loaded : k.extract(loaded, lane);
      }
    return weights;
  }

  /// Adds the carries of every row to it; rows without entries become zero.
  void emitCarries(Val perChunk) const {
    k.forEachWarp(k.index(walk.segments * outer * strips), [&](Val item, Val lane) {
      Val strip = item % k.index(strips), feature = item / k.index(strips);
      Val segment = feature / k.index(outer), row = feature % k.index(outer);
      Val token = (strip * k.index(warpSize) + lane) * k.index(width);
      Val begin = walk.begin(k, segment), end = walk.end(k, segment);
      k.ifThen(k.compare(Compare::lt, token, k.index(x.tokens)), [&] {
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

  GPUBuilder &k;
  TopologyType type;
  bool transpose, accumulate;
  Walk walk;
  Activation x, y;
  Value values, carries;
  int64_t outer, inner;  ///< rows of a block in y and in x
  int64_t width, strips; ///< elements of a load; how many of a warp's are in a row
  int64_t group, step;   ///< rows of a block row that a warp has at a time, features that it then loads
  int64_t chunks;
};

struct SpmmKernel : GPUKernel<SpmmOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(SpmmOp op, GPUBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32OrBF16(op.getValues()) || !Activation::of(op.getX()) || !Activation::of(op.getY()))
      return failure();
    Spmm(k, op, *arrays).emit();
    return success();
  }
};

} // namespace

void smet::populateSpmmGPUKernels(RewritePatternSet &patterns) { patterns.add<SpmmKernel>(patterns.getContext()); }
