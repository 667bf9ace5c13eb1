//===- AttentionTiles.h - a block's pair of token tiles ---------*- C++ -*-===//
//
// Attention and its gradient are products of tiles of 64 queries and 64 keys. The tokens of one tile are in lanes,
// four of each thread, those of the other in rows, eight of each thread (four where a head has many features):
//
//              16 columns of threads, four lanes each
//             ┌───────────────────────────────────────┐
//     8 or 16 │ scores: sums over features, 16 at a   │
//     rows of │ time in shared memory; in registers   │
//     threads │                                       │
//             │ accumulate: what was made of scores   │
//             │ goes to shared memory; sums over the  │
//             │ rows, for features r, r + 8, ... of   │
//             │ the lanes, 32 at a time; in registers │
//             └───────────────────────────────────────┘
//
// A thread's lanes are the same in both products, so that what belongs to a lane (a maximum, a sum) stays in registers.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_GPU_ATTENTIONTILES_H
#define SMET_LIB_CONVERSION_GPU_ATTENTIONTILES_H

#include "GPUKernel.h"

#include <cmath>

namespace smet {

/// Heads and sequences of an attention op on [1, F, T'].
struct AttentionShape {
  int64_t heads, kvHeads, headDim, seqLen;
  int64_t tokens; ///< without padding
  int64_t tiles;

  template <typename OpT> static AttentionShape of(OpT op) {
    Activation q = Activation::of(op.getQ());
    AttentionShape shape;
    shape.heads = op.getNumHeads();
    shape.kvHeads = op.getNumKvHeads();
    shape.headDim = q.features / shape.heads;
    shape.seqLen = op.getSeqLen();
    shape.tokens = llvm::cast<mlir::MemRefType>(op.getLse().getType()).getDimSize(1);
    shape.tiles = llvm::divideCeil(q.tokens, tile);
    return shape;
  }
  static constexpr int64_t tile = 64;
  int64_t groupSize() const { return heads / kvHeads; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(headDim)); }
};

/// The features of a head for the tokens of a tile.
struct TilePart {
  const Activation &x;
  Val feature, tile;
};

/// The inside of a block of `threadsFor` threads; all of them make the same calls.
class TilePair {
public:
  static constexpr int64_t tile = AttentionShape::tile, width = 4, columns = tile / width;
  /// So that what a thread has fits into registers.
  static int64_t rowsFor(int64_t headDim) { return headDim > 32 ? 16 : 8; }
  static int64_t threadsFor(int64_t headDim) { return columns * rowsFor(headDim); }

  TilePair(GPUBuilder &k, int64_t headDim, Val thread);

  const int64_t rows, each; ///< of threads, of tokens of a thread

  mlir::VectorType vector() const { return k.vectorOf(width, k.b.getF32Type()); }
  /// The beginning of what is accumulated: of features row, row + rows, ... and the thread's lanes.
  Vals zeros() const { return Vals(llvm::divideCeil(headDim, rows), k.zero(vector())); }

  /// Of each of the thread's rows, its lanes' sums over a head's features of lanes[f][lane] inRows[f][row].
  Vals scores(const TilePart &lanes, const TilePart &inRows);
  /// sums[i][lane] += sum over all rows of part[i-th feature of the thread][row] weights[row][lane]; `weights` are
  /// those of the thread's rows.
  void accumulate(const Vals &weights, const TilePart &part, Vals &sums);
  /// What `join` makes of the values of all threads with the same lanes, in order; at most once between two products.
  Val joinRows(Val value, llvm::function_ref<Val(Val, Val)> join);
  /// At the end of a loop's body that began with scores.
  void endRound();

  /// Stores what was accumulated.
  void store(const Vals &sums, const TilePart &part) const;

  /// The thread's first lane and first row, counted from the beginning of all tiles.
  Val firstLane(Val tileIndex) const { return tileIndex * tile + lane; }
  Val firstRow(Val tileIndex) const { return tileIndex * tile + row * each; }
  Val isFirstRow() const { return k.compare(KernelBuilder::Compare::eq, row, 0); }

private:
  static constexpr int64_t chunk = 16; ///< features of two parts in shared memory, or twice as many of one

  mlir::Type f32() const { return k.b.getF32Type(); }
  /// The buffer to copy into next. A barrier after that makes it readable, and the other one free: who came to the
  /// barrier has read what was there.
  Val takeBuffer();
  /// Copies `count` features from `firstFeature` on into rows of a buffer.
  void copy(const TilePart &part, Val firstFeature, int64_t count, Val buffer, int64_t firstRow) const;

  GPUBuilder &k;
  int64_t headDim;
  Val thread, row, lane; ///< row: of the rows of threads; lane: its first, of the tile's tokens
  // In shared memory; `joined` where it is used.
  mlir::Value buffers, sharedWeights, joined;
  int64_t next = 0;          ///< the buffer that is taken next
  bool weightsInUse = false; ///< maybe some thread still reads them
};

/// The rows that the lanes of a thread see: those from `from` to `to`, where given.
struct VisibleRows {
  Val from, to;

  /// `value` where the lanes see row `row`, else `otherwise`.
  Val select(GPUBuilder &k, Val row, Val value, Val otherwise) const;
};

/// Of queries in lanes from `first` on: the keys of their sequence up to themselves.
VisibleRows keysOf(GPUBuilder &k, const AttentionShape &shape, Val first);
/// Of keys in lanes: the queries of their sequence from themselves on.
VisibleRows queriesOf(GPUBuilder &k, const AttentionShape &shape, Val first);
/// The first tile of keys that the queries of a tile see; the last is the same tile.
Val firstKeyTile(const AttentionShape &shape, Val queryTile);
/// One behind the last tile of queries that see keys of the tile; the first is the same tile.
Val endOfQueryTiles(const AttentionShape &shape, Val keyTile);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_ATTENTIONTILES_H
