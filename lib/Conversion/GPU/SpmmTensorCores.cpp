//===- SpmmTensorCores.cpp - SpMM of blocks on tensor cores ---------------===//
//
// A block of threads has up to 64 rows of the block row and up to 128 tokens, which its warps share out, and walks the
// entries of a chunk without a break between rows: the pipeline brings the entry's weights and its rows of x, the sums
// stay in registers, and are stored where a row or the chunk ends.
//
//===----------------------------------------------------------------------===//
#include "Spmm.h"
#include "TensorCores.h"

#include <numeric>

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

namespace {

class TensorCoreSpmm {
public:
  explicit TensorCoreSpmm(const ChunkedSpmm &spmm)
      : spmm(spmm), k(spmm.k), rows(std::gcd<int64_t>(spmm.outer, 64)), tokens(std::gcd<int64_t>(spmm.x.tokens, 128)),
        depth(std::gcd<int64_t>(spmm.inner, 32)), warps(std::min<int64_t>(tokens / fragment, 4)),
        sums(k, rows, tokens / warps) {}

  void emit() {
    int64_t strips = spmm.x.tokens / tokens, groups = spmm.outer / rows;
    k.launch(k.index(spmm.chunks * groups * strips), warps * warpSize, [&](Val block, Val thread) {
      Val strip = block % k.index(strips), rest = block / k.index(strips);
      Val group = rest % k.index(groups), chunk = rest / k.index(groups);
      auto [begin, end] = spmm.entriesOf(chunk);
      k.ifThen(k.compare(Compare::lt, begin, end),
               [&] { emitChunk(thread, chunk, begin, end, group * k.index(rows), strip * k.index(tokens)); });
    });
  }

private:
  void emitChunk(Val thread, Val chunk, Val begin, Val end, Val row0, Val token0) {
    const Walk &walk = spmm.walk;
    Val parts = k.index(spmm.inner / depth), lane = thread % k.index(warpSize);
    Val warpToken = thread / k.index(warpSize) * k.index(tokens / warps);
    StagedFactor weights(k, rows, depth, /*alongDepth=*/!spmm.transpose), x(k, tokens, depth, /*alongDepth=*/false);
    auto locate = [&](Val step) -> Vals {
      Val entry = begin + step / parts;
      return {walk.slot(k, entry), walk.coordinate(k, entry) * k.index(spmm.inner)};
    };
    auto fetch = [&](Val step, Val stage, const Vals &place) {
      Val from = step % parts * k.index(depth);
      weights.fetch(stage, thread, warps * warpSize, spmm.values, [&](Val i, Val j) -> Vals {
        return spmm.transpose ? Vals{place[0], from + i, row0 + j} : Vals{place[0], row0 + i, from + j};
      });
      x.fetch(stage, thread, warps * warpSize, spmm.x.memref, [&](Val i, Val j) -> Vals {
        return {0, place[1] + from + i, token0 + j};
      });
    };
    // Carried: the segment, where it ends in this chunk, its sums.
    auto endOf = [&](Val segment) { return k.min(walk.end(k, segment), end); };
    auto compute = [&](Val step, Val stage, Vals carried) -> Vals {
      Val next = begin + (step + 1) / parts, segment = carried[0];
      Vals now = sums.multiply(Vals(llvm::drop_begin(carried, 2)), weights, k.index(0), x, warpToken, stage, k.index(0),
                               depth, lane);
      carried.truncate(2);
      llvm::append_range(carried, now);
      auto types = llvm::map_to_vector(carried, [](Val v) { return v.type(); });
      return k.ifElse(
          k.compare(Compare::eq, next, carried[1]), types,
          [&]() -> Vals {
            store(now, lane, segment, chunk, begin, row0, token0 + warpToken);
            Val following = walk.segmentOf(k, next);
            Vals fresh{following, endOf(following)};
            llvm::append_range(fresh, sums.zeros());
            return fresh;
          },
          [&] { return carried; });
    };
    Val first = walk.segmentOf(k, begin);
    Vals inits{first, endOf(first)};
    llvm::append_range(inits, sums.zeros());
    pipeline(k, (end - begin) * parts, inits, {locate, fetch, compute});
  }

  void store(const Vals &values, Val lane, Val segment, Val chunk, Val begin, Val row0, Val token0) const {
    k.ifElse(
        spmm.isCarry(segment, begin),
        [&] {
          sums.forEachPair(values, lane,
                           [&](Val i, Val j, Val two) { spmm.storeCarry(two, chunk, row0 + i, token0 + j); });
        },
        [&] {
          sums.forEachPair(values, lane,
                           [&](Val i, Val j, Val two) { spmm.storeSum(two, segment, row0 + i, token0 + j); });
        });
  }

  const ChunkedSpmm &spmm;
  GPUBuilder &k;
  int64_t rows, tokens, depth, warps; ///< rows and tokens of a block of threads; depth of a pipeline's step
  WarpSums sums;
};

} // namespace

void smet::multiplyOnTensorCores(const ChunkedSpmm &spmm) { TensorCoreSpmm(spmm).emit(); }
