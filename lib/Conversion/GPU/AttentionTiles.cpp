//===- AttentionTiles.cpp - a block's pair of token tiles -----------------===//
#include "AttentionTiles.h"

#include <utility>

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

// A row of the buffers is four elements longer than a tile: the threads of a warp read neighbouring rows at one place.
TilePair::TilePair(GPUBuilder &k, int64_t headDim, Val thread)
    : rows(rowsFor(headDim)), each(tile / rows), k(k), headDim(headDim), thread(thread), row(thread / columns),
      lane(thread % columns * width), buffers(k.shared({2, std::min(2 * chunk, 2 * headDim), tile + width}, f32())),
      sharedWeights(k.shared({tile, tile}, f32())) {}

// A thread copies 16 bytes at a time. Tokens behind the last are others once more: nothing is stored for them.
void TilePair::copy(const TilePart &part, Val firstFeature, int64_t count, Val buffer, int64_t firstRow) const {
  int64_t lanes = widestLoad * 8 / cast<MemRefType>(part.x.memref.getType()).getElementTypeBitWidth();
  int64_t perRow = tile / lanes, atOnce = threadsFor(headDim) / perRow;
  Val place = thread % perRow * lanes, token = part.tile * tile + place;
  if (part.x.tokens % tile)
    token = k.min(token, k.index(part.x.tokens - lanes));
  for (int64_t first = 0; first < count; first += atOnce) {
    Val f = thread / perRow + first;
    auto one = [&] {
      Val values = part.x.load(k, part.feature + firstFeature + f, token, lanes);
      for (int64_t w = 0; w < lanes; w += width) {
        Val some = k.shuffle(values, values, llvm::to_vector(llvm::seq(w, w + width)));
        k.storeVector(some, buffers, {buffer, f + firstRow, place + w});
      }
    };
    if (first + atOnce <= count)
      one();
    else
      k.ifThen(k.compare(Compare::lt, f, count), one);
  }
}

Val TilePair::takeBuffer() { return k.index(std::exchange(next, 1 - next)); }

Vals TilePair::scores(const TilePart &lanes, const TilePart &inRows) {
  auto add = [&](Val firstFeature, int64_t count, Val buffer, Vals sums) {
    copy(lanes, firstFeature, count, buffer, 0);
    copy(inRows, firstFeature, count, buffer, count);
    k.barrier();
    return k.loop(0, count, 1, sums, [&](Val f, Vals sums) -> Vals {
      Val ofLanes = k.loadVector(buffers, {buffer, f, lane}, width), ofRows;
      for (int64_t j = 0; j < each; ++j) {
        if (j % width == 0)
          ofRows = k.loadVector(buffers, {buffer, f + count, row * each + j}, width);
        sums[j] = k.fma(k.extract(ofRows, j % width), ofLanes, sums[j]);
      }
      return sums;
    });
  };
  int64_t chunks = headDim / chunk, rest = headDim % chunk;
  Vals sums = k.loop(0, chunks, 1, Vals(each, k.zero(vector())),
                     [&](Val i, Vals sums) -> Vals { return add(i * chunk, chunk, (i + next) % 2, sums); });
  next = (next + chunks) % 2;
  if (rest)
    sums = add(k.index(chunks * chunk), rest, takeBuffer(), sums);
  weightsInUse = false;
  return sums;
}

void TilePair::accumulate(const Vals &weights, const TilePart &part, Vals &sums) {
  if (std::exchange(weightsInUse, true))
    k.barrier();
  for (auto [j, weight] : llvm::enumerate(weights))
    k.storeVector(weight, sharedWeights, {row * each + k.index(j), lane});
  for (int64_t d = 0; d < headDim; d += 2 * chunk) {
    int64_t count = std::min(2 * chunk, headDim - d), first = d / rows;
    Val buffer = takeBuffer();
    copy(part, k.index(d), count, buffer, 0);
    k.barrier();
    Vals some(ArrayRef(sums).slice(first, llvm::divideCeil(count, rows)));
    some = k.loop(0, tile, width, some, [&](Val r, Vals sums) -> Vals {
      Vals fromRows;
      for (int64_t w = 0; w < width; ++w)
        fromRows.push_back(k.loadVector(sharedWeights, {r + w, lane}, width));
      for (auto [i, sum] : llvm::enumerate(sums)) {
        Val f = row + k.index(i * rows); // beyond the last feature: the last once more, which is not stored
        if (int64_t(i + 1) * rows > count)
          f = k.min(f, k.index(count - 1));
        Val features = k.loadVector(buffers, {buffer, f, r}, width);
        for (int64_t w = 0; w < width; ++w)
          sum = k.fma(k.extract(features, w), fromRows[w], sum);
      }
      return sums;
    });
    llvm::copy(some, sums.begin() + first);
  }
}

Val TilePair::joinRows(Val value, function_ref<Val(Val, Val)> join) {
  if (!joined)
    joined = k.shared({rows, tile}, f32());
  k.storeVector(value, joined, {row, lane});
  k.barrier();
  auto of = [&](int64_t r) { return k.loadVector(joined, {k.index(r), lane}, width); };
  Val all = of(0);
  for (int64_t r = 1; r < rows; ++r)
    all = join(all, of(r));
  return all;
}

// The next round begins with the first buffer: if that was the last to be read, all have to be through with it.
void TilePair::endRound() {
  if (std::exchange(next, 0))
    k.barrier();
}

void TilePair::store(const Vals &sums, const TilePart &part) const {
  Val token = firstLane(part.tile);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Val f = row + k.index(i * rows);
    auto one = [&, sum = sum] { part.x.store(k, sum, part.feature + f, token); };
    Val isInside;
    if (int64_t(i + 1) * rows > headDim)
      isInside = k.compare(Compare::lt, f, headDim);
    if (part.x.tokens % tile) {
      Val isToken = k.compare(Compare::lt, token, part.x.tokens);
      isInside = isInside ? k.bitAnd(isInside, isToken) : isToken;
    }
    isInside ? k.ifThen(isInside, one) : one();
  }
}

//===----------------------------------------------------------------------===//
// Who sees whom
//===----------------------------------------------------------------------===//

/// The numbers of a thread's lanes.
static Val numbers(GPUBuilder &k, Val first) {
  Type i32 = k.b.getI32Type();
  return k.fromIndex(first, i32) + k.iota(TilePair::width, i32);
}

Val VisibleRows::select(GPUBuilder &k, Val row, Val value, Val otherwise) const {
  Val number = k.fromIndex(row, k.b.getI32Type());
  if (from)
    value = k.select(k.compare(Compare::lt, number, from), otherwise, value);
  if (to)
    value = k.select(k.compare(Compare::gt, number, to), otherwise, value);
  return value;
}

// Where sequences are whole tiles, no pair of tiles is of two sequences.
VisibleRows smet::keysOf(GPUBuilder &k, const AttentionShape &shape, Val first) {
  Val query = numbers(k, first);
  return {shape.seqLen % AttentionShape::tile ? query / shape.seqLen * shape.seqLen : Val(), query};
}

VisibleRows smet::queriesOf(GPUBuilder &k, const AttentionShape &shape, Val first) {
  Val key = numbers(k, first);
  return {key, shape.seqLen % AttentionShape::tile ? (key / shape.seqLen + 1) * shape.seqLen - 1 : Val()};
}

Val smet::firstKeyTile(const AttentionShape &shape, Val queryTile) {
  return queryTile * AttentionShape::tile / shape.seqLen * shape.seqLen / AttentionShape::tile;
}

Val smet::endOfQueryTiles(const AttentionShape &shape, Val keyTile) {
  Val last = keyTile * AttentionShape::tile + (AttentionShape::tile - 1);
  Val end = (last / shape.seqLen + 1) * shape.seqLen;
  GPUBuilder &k = static_cast<GPUBuilder &>(*end.owner());
  return k.min((end + (AttentionShape::tile - 1)) / AttentionShape::tile, k.index(shape.tiles));
}
