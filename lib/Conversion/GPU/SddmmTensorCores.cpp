//===- SddmmTensorCores.cpp - SDDMM of blocks on tensor cores -------------===//
//
// A block of threads has up to 64 x 64 weights of a slot, and the pipeline brings some tokens of their rows of dy and x
// at a time. A warp has up to 32 x 32 weights, and where that leaves warps over, every one a share of the tokens. Sums
// meet in shared memory, those of the shares in order, and a thread takes four neighbouring weights from there.
//
//===----------------------------------------------------------------------===//
#include "Sddmm.h"
#include "TensorCores.h"

#include <numeric>

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

namespace {

/// Weights that a thread takes: 16 bytes of their gradients.
constexpr int64_t takenTogether = 4;
/// Columns of sums that stay neighbours in shared memory, and what all banks have in a pass.
constexpr int64_t pieceColumns = 8, columnsPerPass = 32;

class TensorCoreSddmm {
public:
  TensorCoreSddmm(GPUBuilder &k, const Sddmm &sddmm)
      : k(k), sddmm(sddmm), blockRows(sddmm.type.getBlockRows()), blockColumns(sddmm.type.getBlockCols()),
        rows(std::gcd<int64_t>(blockRows, 64)), columns(std::gcd<int64_t>(blockColumns, 64)),
        warpRows(std::min<int64_t>(rows, 32)), warpColumns(std::min<int64_t>(columns, 32)),
        tokens(std::gcd<int64_t>(sddmm.x.tokens, llvm::bit_floor<uint64_t>(4096 / (rows + columns)))),
        parts(rows / warpRows * (columns / warpColumns)), shares(std::min<int64_t>(4 / parts, tokens / fragment)),
        threads(parts * shares * warpSize), sums(k, warpRows, warpColumns) {}

  void emit(Val slots, TakeGradient take) const {
    int64_t across = blockColumns / columns, rectangles = blockRows / rows * across;
    k.launch(slots * k.index(rectangles), threads, [&](Val block, Val thread) {
      Val slot = block / k.index(rectangles), rectangle = block % k.index(rectangles);
      Val r0 = rectangle / k.index(across) * k.index(rows), c0 = rectangle % k.index(across) * k.index(columns);
      Value total = k.shared({shares, rows, columns}, k.b.getF32Type());
      multiply(thread, slot, r0, c0, total);
      k.barrier();
      takeAll(thread, slot, r0, c0, total, take);
    });
  }

private:
  void multiply(Val thread, Val slot, Val r0, Val c0, Value total) const {
    Val lane = thread % k.index(warpSize), warp = thread / k.index(warpSize);
    Val part = warp % k.index(parts), share = warp / k.index(parts);
    Val m0 = part / k.index(columns / warpColumns) * k.index(warpRows);
    Val n0 = part % k.index(columns / warpColumns) * k.index(warpColumns);
    Val row = sddmm.walk.segmentOf(k, slot) * k.index(blockRows) + r0;
    Val column = sddmm.walk.coordinate(k, slot) * k.index(blockColumns) + c0;
    StagedFactor dy(k, rows, tokens, /*alongDepth=*/true), x(k, columns, tokens, /*alongDepth=*/true);
    auto fetch = [&](Val step, Val stage, const Vals &) {
      Val token = step * k.index(tokens);
      auto tokensOf = [&](Val feature) { return [=](Val i, Val j) -> Vals { return {0, feature + i, token + j}; }; };
      dy.fetch(stage, thread, threads, sddmm.dy.memref, tokensOf(row));
      x.fetch(stage, thread, threads, sddmm.x.memref, tokensOf(column));
    };
    auto compute = [&](Val, Val stage, Vals carried) {
      return sums.multiply(carried, dy, m0, x, n0, stage, share * k.index(tokens / shares), tokens / shares, lane);
    };
    auto nowhere = [](Val) -> Vals { return {}; };
    Vals values = pipeline(k, k.index(sddmm.x.tokens / tokens), sums.zeros(), {nowhere, fetch, compute});
    sums.forEachPair(values, lane, [&](Val i, Val j, Val two) {
      k.storeVector(two, total, {share, m0 + i, place(m0 + i, n0 + j)});
    });
  }

  void takeAll(Val thread, Val slot, Val r0, Val c0, Value total, TakeGradient take) const {
    int64_t perRow = columns / takenTogether;
    auto takeSome = [&](Val i) {
      Val r = i / k.index(perRow), c = i % k.index(perRow) * k.index(takenTogether), at = place(r, c);
      Val gradient = k.loadVector(total, {0, r, at}, takenTogether);
      for (int64_t share = 1; share < shares; ++share)
        gradient = gradient + k.loadVector(total, {k.index(share), r, at}, takenTogether);
      take(slot, (slot * k.index(blockRows) + r0 + r) * k.index(blockColumns) + c0 + c, gradient);
    };
    k.loop(thread, k.index(rows * perRow), threads, takeSome);
  }

  /// Where column `c` of a row of sums is.
  Val place(Val r, Val c) const {
    Val piece = c / k.index(pieceColumns);
    return swizzle(k, r, piece, columns / pieceColumns, columnsPerPass / pieceColumns) * k.index(pieceColumns) +
           c % k.index(pieceColumns);
  }

  GPUBuilder &k;
  const Sddmm &sddmm;
  int64_t blockRows, blockColumns;
  int64_t rows, columns, warpRows, warpColumns; ///< of a block of threads, of a warp
  int64_t tokens, parts, shares, threads;       ///< of a step; warps: for parts of the weights times shares of tokens
  WarpSums sums;
};

} // namespace

void smet::sddmmOnTensorCores(GPUBuilder &k, const Sddmm &sddmm, Val slots, TakeGradient take) {
  TensorCoreSddmm(k, sddmm).emit(slots, take);
}
