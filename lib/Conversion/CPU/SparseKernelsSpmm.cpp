//===- SparseKernelsSpmm.cpp - SpMM on packed token tiles -----------------===//
//
// y = x Wᵀ, or with `transpose` y = x W by the transposed walk. One item of work is a token tile and a range of output
// blocks. An output block is computed in register tiles of `rows` features x `columns` token vectors, which stay in
// registers over the whole reduction: every x vector is loaded once a register tile, every weight is broadcast.
//
//===----------------------------------------------------------------------===//
#include "SparseKernels.h"

using namespace mlir;
using namespace smet;

namespace {

/// Items that a kernel is split into at least, where its shape allows: enough for 64 threads to balance.
constexpr int64_t minItems = 256;
/// FMAs in the body of the innermost loop, at most: longer bodies no longer fit the decoded-instruction cache.
constexpr int64_t maxBodyFmas = 96;
/// Accumulators needed to keep two FMA units busy over a latency of four cycles.
constexpr int64_t minAccumulators = 8;

/// A register tile: `rows` output features (some tiles have one row less) x `columns` token vectors.
struct RegisterTile {
  int64_t rows, columns;
};

/// The tile with the fewest loads a block among those that fit: rows * columns accumulators, `columns` x vectors and
/// one broadcast weight.
RegisterTile chooseTile(int64_t blockRows, int64_t vectors, int64_t registers) {
  RegisterTile best{1, 1};
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (int64_t columns = 1; columns <= vectors; ++columns) {
    int64_t maxRows = (registers - 1) / columns - 1;
    if (vectors % columns || maxRows < 1)
      continue;
    int64_t tiles = llvm::divideCeil(blockRows, maxRows);
    int64_t loads = (blockRows + tiles * columns) * (vectors / columns);
    if (loads < fewest) {
      fewest = loads;
      best = {static_cast<int64_t>(llvm::divideCeil(blockRows, tiles)), columns};
    }
  }
  return best;
}

int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::clamp<int64_t>(limit, 1, n);
  while (n % divisor)
    --divisor;
  return divisor;
}

class SpmmEmitter {
public:
  SpmmEmitter(SpmmOp op, KernelBuilder &k, const CPUTarget &target, const TopologyArrays &arrays)
      : k(k), type(op.getTopology().getType()), transpose(op.getTranspose()), accumulate(op.getAccumulate()),
        walk(transpose ? columnWalk(type, arrays) : rowWalk(type, arrays)), x(k, op.getX()), y(k, op.getY()),
        values(k.flatten(op.getValues())), outer(transpose ? type.getBlockCols() : type.getBlockRows()),
        inner(transpose ? type.getBlockRows() : type.getBlockCols()), lanes(lanesFor(target, x.width)),
        vectors(x.width / lanes), tile(chooseTile(outer, vectors, target.numRegisters)) {
    int64_t sums = tile.rows * tile.columns;
    chains = std::min<int64_t>(llvm::divideCeil(minAccumulators, sums), 4);
    if (inner > 1)
      chains = std::min(chains, inner);
  }

  void emit() {
    int64_t tiles = x.tiles.get() ? mlir::getConstantIntValue(x.tiles.get()).value_or(1) : 1;
    int64_t pieces = std::clamp<int64_t>(llvm::divideCeil(minItems, std::max<int64_t>(tiles, 1)), 1, walk.segments);
    k.parallel(x.tiles * pieces, [&](Val item) {
      Val token = item / pieces, piece = item % pieces;
      Val xTile = token * x.tileSize(), yTile = token * y.tileSize();
      k.loop(piece * walk.segments / pieces, (piece + 1) * walk.segments / pieces, 1,
             [&](Val segment) { emitSegment(segment, xTile, yTile + segment * (outer * y.width)); });
    });
  }

private:
  /// One output block: register tiles of tile.rows, then those of one row less, so that all are about equal.
  void emitSegment(Val segment, Val xTile, Val yBlock) {
    Val begin = walk.begin(k, segment), end = walk.end(k, segment);
    int64_t count = llvm::divideCeil(outer, tile.rows), large = outer - count * (tile.rows - 1);
    auto emitTiles = [&](int64_t first, int64_t last, int64_t rows) {
      k.loop(first, last, rows, [&](Val row) {
        k.loop(0, x.width, tile.columns * lanes,
               [&](Val lane) { emitTile(begin, end, row, rows, xTile + lane, yBlock + row * y.width + lane); });
      });
    };
    emitTiles(0, large * tile.rows, tile.rows);
    if (large < count)
      emitTiles(large * tile.rows, outer, tile.rows - 1);
  }

  void emitTile(Val begin, Val end, Val row, int64_t rows, Val xOffset, Val yOffset) {
    int64_t sums = rows * tile.columns;
    auto yIndex = [&](int64_t i) { return yOffset + (i / tile.columns * y.width + i % tile.columns * lanes); };
    Type vector = k.vectorOf(lanes, k.b.getF32Type());
    Vals acc;
    for (int64_t i = 0; i < sums * chains; ++i)
      acc.push_back(accumulate && i < sums ? k.loadVector(y.flat.get(), {yIndex(i)}, lanes) : k.zero(vector));

    // Blocks of one column take `chains` entries at a time, one a chain; the rest goes to chain 0.
    Val rest = begin;
    if (inner == 1 && chains > 1) {
      rest = begin + (end - begin) / chains * chains;
      acc = k.loop(begin, rest, chains, acc, [&](Val entry, Vals sum) {
        for (int64_t chain = 0; chain < chains; ++chain)
          emitBlock(entry + chain, row, rows, xOffset, sum, chain);
        return sum;
      });
    }
    acc = k.loop(rest, end, 1, acc, [&](Val entry, Vals sum) {
      emitBlock(entry, row, rows, xOffset, sum, 0);
      return sum;
    });

    for (int64_t i = 0; i < sums; ++i) {
      for (int64_t chain = 1; chain < chains; ++chain)
        acc[i] = acc[i] + acc[chain * sums + i];
      k.storeVector(acc[i], y.flat.get(), {yIndex(i)});
    }
  }

  /// acc += the product of `rows` rows of a block from `row` with its rows of x; column j goes to chain
  /// (firstChain + j) % chains.
  void emitBlock(Val entry, Val row, int64_t rows, Val xOffset, Vals &acc, int64_t firstChain) {
    int64_t rowStride = transpose ? 1 : type.getBlockCols(), columnStride = transpose ? type.getBlockCols() : 1;
    Val weights = walk.slot(k, entry) * (outer * inner) + row * rowStride;
    Val xBlock = xOffset + walk.coordinate(k, entry) * (inner * x.width);
    int64_t unroll = largestDivisor(inner, maxBodyFmas / (rows * tile.columns));
    if (unroll % chains && unroll < inner)
      unroll = inner;
    acc = k.loop(0, inner, unroll, acc, [&](Val column, Vals sum) {
      Val w = weights + column * columnStride, xColumn = xBlock + column * x.width;
      for (int64_t j = 0; j < unroll; ++j) {
        Vals xs;
        for (int64_t n = 0; n < tile.columns; ++n)
          xs.push_back(k.loadVector(x.flat.get(), {xColumn + (j * x.width + n * lanes)}, lanes));
        int64_t chain = (firstChain + j) % chains * rows * tile.columns;
        for (int64_t r = 0; r < rows; ++r) {
          Val weight = k.broadcast(k.load(values.get(), {w + (r * rowStride + j * columnStride)}), lanes);
          for (int64_t n = 0; n < tile.columns; ++n) {
            Val &target = sum[chain + r * tile.columns + n];
            target = k.fma(weight, xs[n], target);
          }
        }
      }
      return sum;
    });
  }

  KernelBuilder &k;
  TopologyType type;
  bool transpose, accumulate;
  Walk walk;
  Tokens x, y;
  Val values;
  int64_t outer, inner; ///< sides of a block: output features, reduction
  int64_t lanes, vectors;
  RegisterTile tile;
  int64_t chains; ///< independent sums an accumulator is split into
};

struct SpmmKernel : CPUKernel<SpmmOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(SpmmOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32(op.getValues()) || !isPackedF32(op.getX()) || !isPackedF32(op.getY()))
      return failure();
    SpmmEmitter(op, k, target, *arrays).emit();
    return success();
  }
};

} // namespace

void smet::populateSpmmKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<SpmmKernel>(patterns.getContext(), target);
}
