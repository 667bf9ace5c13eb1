//===- SparseSpmmTiles.cpp - SpMM in register tiles -----------------------===//
//
// One item of work is a token tile and a range of output blocks. An output block is computed in register tiles of
// `rows` features x `columns` token vectors, which stay in registers over the whole reduction: every x vector is loaded
// once a register tile, every weight is broadcast. Many tokens stored in bf16 are converted once an item, into a copy
// of the tile on the stack.
//
//===----------------------------------------------------------------------===//
#include "SparseSpmm.h"

using namespace mlir;
using namespace smet;

namespace {

/// FMAs in the body of the innermost loop, at most: those of an 8x8 block in tiles of 4 x 4 vectors. Longer bodies no
/// longer fit the decoded-instruction cache. Narrow lanes have 16 registers and no weights from memory in an FMA: LLVM
/// then moves the broadcasts of a long body to its head and spills them.
constexpr int64_t maxBodyFmas(int64_t lanes) { return lanes < 16 ? 48 : 128; }

int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::clamp<int64_t>(limit, 1, n);
  while (n % divisor)
    --divisor;
  return divisor;
}

class TilesSpmm {
public:
  TilesSpmm(const SpmmOperands &o, const SpmmChoice &choice)
      : o(o), k(o.k), choice(choice), walk(o.byOutputs), x(o.x.flat) {}

  void emit() {
    int64_t pieces = std::min(choice.pieces, walk.segments);
    k.parallel(o.x.tiles * pieces, [&](Val item) {
      Val token = item / pieces, piece = item % pieces;
      Val xTile = token * o.x.tileSize(), yTile = token * o.y.tileSize();
      if (o.copiesTiles) {
        copyTile(xTile);
        xTile = k.index(0);
      }
      k.loop(piece * walk.segments / pieces, (piece + 1) * walk.segments / pieces, 1,
             [&](Val segment) { emitSegment(segment, xTile, yTile + segment * (o.outer * o.y.width)); });
    });
  }

private:
  /// As many vectors at a time as a register tile takes, whose order of lanes depends on it.
  void copyTile(Val xTile) {
    x = k.stack({o.x.tileSize()}, k.b.getF32Type());
    k.loop(0, o.x.tileSize(), choice.columns * o.lanes,
           [&](Val at) { o.store(o.load(o.x.flat, xTile + at, choice.columns), x, at); });
  }

  /// One output block: register tiles of choice.rows, then those of one row less, so that all are about equal.
  void emitSegment(Val segment, Val xTile, Val yBlock) {
    Val begin = walk.begin(k, segment), end = walk.end(k, segment);
    int64_t count = llvm::divideCeil(o.outer, choice.rows), large = o.outer - count * (choice.rows - 1);
    auto emitTiles = [&](int64_t first, int64_t last, int64_t rows) {
      k.loop(first, last, rows, [&](Val row) {
        k.loop(0, o.x.width, choice.columns * o.lanes,
               [&](Val lane) { emitTile(begin, end, row, rows, xTile + lane, yBlock + row * o.y.width + lane); });
      });
    };
    emitTiles(0, large * choice.rows, choice.rows);
    if (large < count)
      emitTiles(large * choice.rows, o.outer, choice.rows - 1);
  }

  void emitTile(Val begin, Val end, Val row, int64_t rows, Val xOffset, Val yOffset) {
    int64_t sums = rows * choice.columns;
    Vals acc;
    for (int64_t r = 0; o.accumulate && r < rows; ++r)
      acc.append(o.load(o.y.flat, yOffset + r * o.y.width, choice.columns));
    acc.resize(sums * choice.chains, o.zero());

    // Blocks of one column take `choice.chains` entries at a time, one a chain; the rest goes to chain 0.
    Val rest = begin;
    if (o.inner == 1 && choice.chains > 1) {
      rest = begin + (end - begin) / choice.chains * choice.chains;
      acc = k.loop(begin, rest, choice.chains, acc, [&](Val entry, Vals sum) {
        for (int64_t chain = 0; chain < choice.chains; ++chain)
          emitBlock(entry + chain, row, rows, xOffset, sum, chain);
        return sum;
      });
    }
    acc = k.loop(rest, end, 1, acc, [&](Val entry, Vals sum) {
      emitBlock(entry, row, rows, xOffset, sum, 0);
      return sum;
    });

    for (int64_t i = 0; i < sums; ++i)
      for (int64_t chain = 1; chain < choice.chains; ++chain)
        acc[i] = acc[i] + acc[chain * sums + i];
    for (int64_t r = 0; r < rows; ++r)
      o.store(ArrayRef(acc).slice(r * choice.columns, choice.columns), o.y.flat, yOffset + r * o.y.width);
  }

  /// acc += the product of `rows` rows of a block from `row` with its rows of x; column j goes to chain
  /// (firstChain + j) % chains.
  void emitBlock(Val entry, Val row, int64_t rows, Val xOffset, Vals &acc, int64_t firstChain) {
    int64_t rowStride = o.transpose ? 1 : o.inner, columnStride = o.transpose ? o.outer : 1;
    Val weights = walk.slot(k, entry) * (o.outer * o.inner) + row * rowStride;
    Val xBlock = xOffset + walk.coordinate(k, entry) * (o.inner * o.x.width);
    int64_t unroll = largestDivisor(o.inner, maxBodyFmas(o.lanes) / (rows * choice.columns));
    if (unroll % choice.chains && unroll < o.inner)
      unroll = o.inner;
    acc = k.loop(0, o.inner, unroll, acc, [&](Val column, Vals sum) {
      Val w = weights + column * columnStride, xColumn = xBlock + column * o.x.width;
      for (int64_t j = 0; j < unroll; ++j) {
        Vals xs = o.load(x, xColumn + j * o.x.width, choice.columns);
        int64_t chain = (firstChain + j) % choice.chains * rows * choice.columns;
        for (int64_t r = 0; r < rows; ++r) {
          Val weight = k.broadcast(k.load(o.values.get(), {w + (r * rowStride + j * columnStride)}), o.lanes);
          for (int64_t n = 0; n < choice.columns; ++n) {
            Val &target = sum[chain + r * choice.columns + n];
            target = k.fma(weight, xs[n], target);
          }
        }
      }
      return sum;
    });
  }

  const SpmmOperands &o;
  KernelBuilder &k;
  const SpmmChoice &choice;
  const Walk &walk;
  Val x; ///< flat: the activation, or the copy of a tile
};

} // namespace

void smet::emitTilesSpmm(const SpmmOperands &operands, const SpmmChoice &choice) { TilesSpmm(operands, choice).emit(); }
