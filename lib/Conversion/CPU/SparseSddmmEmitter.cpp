//===- SparseSddmmEmitter.cpp - sampled products of activations -----------===//
#include "SparseSddmmEmitter.h"

#include "SparseSddmmDense.h"

using namespace mlir;
using namespace smet;

/// Rows of a tile that an item of work copies.
static constexpr int64_t itemRows = 1 << 8;

SddmmEmitter::SddmmEmitter(KernelBuilder &k, const CPUTarget &target, TopologyType type, const TopologyArrays &arrays,
                           Value xValue, Value dyValue, Val nnz, const SddmmChoice &choice)
    : k(k), choice(choice), single(type.getBlockSize() == 1),
      gathers(type.getBlockRows() == 1 || type.getBlockCols() == 1),
      order(choice.byColumns ? columnWalk(type, arrays) : rowWalk(type, arrays)), x(k, xValue, type.getBlockCols()),
      dy(k, dyValue, type.getBlockRows()), lanes(lanesFor(target, x.tokens.width)), vectors(x.tokens.width / lanes),
      pairs(x.tokens.isBF16() && dy.tokens.isBF16() && vectors % 2 == 0) {
  Side &moving = choice.byColumns ? dy : x;
  if (moving.tokens.isBF16())
    moving.tokens.flat = k.workspace({choice.chunkTiles * moving.tokens.tileSize()}, k.b.getF32Type());
  Tiles xTiles = Tiles::of(xValue), dyTiles = Tiles::of(dyValue);
  if (single && choice.densePercent < 100 && xTiles && dyTiles) {
    dense = k.compare(KernelBuilder::Compare::gt, nnz * 100, type.getNumBlocks() * choice.densePercent);
    denseSddmm = std::make_unique<DenseSddmm>(k, target, order, xTiles, dyTiles);
  }
}

SddmmEmitter::~SddmmEmitter() = default;

void SddmmEmitter::add(Val begin, Val end, const Gradients &gradients) {
  if (denseSddmm)
    k.ifElse(
        dense, [&] { denseSddmm->add(begin, end, segmentOf(begin), segmentOf(end - 1) + 1, gradients); },
        [&] { addSingles(begin, end, gradients); });
  else if (single)
    addSingles(begin, end, gradients);
  else
    addBlocks(begin, end, gradients);
}

void SddmmEmitter::addBlocks(Val begin, Val end, const Gradients &gradients) {
  Val entries = end - begin, step = k.max((entries + (choice.items - 1)) / choice.items, 1), tiles = x.tokens.tiles;
  k.loop(0, tiles, choice.chunkTiles, [&](Val tile) {
    Val count = k.min(tiles - tile, choice.chunkTiles);
    copyChunk(tile, count);
    parallelPieces(k, entries, step, [&](Val pieceBegin, Val pieceEnd) {
      Val first = begin + pieceBegin, last = begin + pieceEnd;
      k.loop(segmentOf(first), segmentOf(last - 1) + 1, 1, [&](Val segment) {
        addSegment(segment, k.max(order.begin(k, segment), first), k.min(order.end(k, segment), last), tile, count,
                   gradients);
      });
    });
  });
}

/// `count` tiles of the moving side, where it is stored in bf16.
void SddmmEmitter::copyChunk(Val tile, Val count) {
  const Side &side = choice.byColumns ? dy : x;
  if (!side.isCopied())
    return;
  parallelPieces(k, count * side.tokens.tileSize(), itemRows * side.tokens.width, [&](Val begin, Val end) {
    k.loop(begin, end, side.tokens.width, [&](Val i) {
      Vals row = loadVectors(k, side.stored, tile * side.tokens.tileSize() + i, vectors, lanes, pairs);
      storeVectors(k, row, side.tokens.flat, i, pairs);
    });
  });
}

/// The segment that an entry belongs to, by bisection.
Val SddmmEmitter::segmentOf(Val entry) {
  Vals range = {k.index(0), k.index(order.segments)};
  int64_t steps = llvm::Log2_64_Ceil(order.segments + 1);
  return k.loop(0, steps, 1, range, [&](Val, Vals r) -> Vals {
    Val middle = (r[0] + r[1]) / 2;
    Val left = k.compare(KernelBuilder::Compare::gt, order.begin(k, middle), entry);
    return {k.select(left, r[0], middle), k.select(left, middle, r[1])};
  })[0];
}

void SddmmEmitter::addSegment(Val segment, Val first, Val last, Val tile, Val count, const Gradients &gradients) {
  if (gathers)
    return addSlots(segment, first, last, tile, count, gradients);
  const Side &fixed = choice.byColumns ? x : dy, &moving = choice.byColumns ? dy : x;
  Val fixedOffset = offset(fixed, tile, segment);
  k.loop(first, last, 1, [&](Val entry) {
    Val movingOffset = offset(moving, tile, order.coordinate(k, entry));
    addBlock(gradients.place(entry), choice.byColumns ? fixedOffset : movingOffset,
             choice.byColumns ? movingOffset : fixedOffset, count, gradients.flat);
  });
}

static Val lanesFrom(KernelBuilder &k, Val vector, int64_t first, int64_t count) {
  return k.shuffle(vector, vector, llvm::to_vector(llvm::seq(first, first + count)));
}

static Vals rowsFrom(const Tokens &tokens, Val offset, int64_t count) {
  Vals offsets;
  for (int64_t i = 0; i < count; ++i)
    offsets.push_back(offset + i * tokens.width);
  return offsets;
}

void SddmmEmitter::addBlock(Val place, Val xOffset, Val dyOffset, Val count, Value flat) {
  forPieces(k, dy.count, choice.height, [&](Val r, int64_t height) {
    forPieces(k, x.count, choice.width, [&](Val c, int64_t width) {
      Vals columns = rowsFrom(x.tokens, xOffset + c * x.tokens.width, width),
           rows = rowsFrom(dy.tokens, dyOffset + r * dy.tokens.width, height);
      dots(x.tokens, columns, dy.tokens, rows, count,
           [&](int64_t i, Val sums) { addTo(flat, place + ((r + i) * x.count + c), sums, width); });
    });
  });
}

/// Blocks of one row or column: the side that a block has one row of is gathered from several slots.
void SddmmEmitter::addSlots(Val segment, Val first, Val last, Val tile, Val count, const Gradients &gradients) {
  const Side &fixed = choice.byColumns ? x : dy, &moving = choice.byColumns ? dy : x;
  Val fixedOffset = offset(fixed, tile, segment);
  auto slots = [&](Val entry, int64_t size) {
    Vals offsets, places;
    for (int64_t q = 0; q < size; ++q) {
      offsets.push_back(offset(moving, tile, order.coordinate(k, entry + q)));
      places.push_back(gradients.place(entry + q));
    }
    forPieces(k, fixed.count, choice.width, [&](Val i, int64_t width) {
      Vals rows = rowsFrom(fixed.tokens, fixedOffset + i * fixed.tokens.width, width);
      dots(fixed.tokens, rows, moving.tokens, offsets, count,
           [&](int64_t q, Val sums) { addTo(gradients.flat, places[q] + i, sums, width); });
    });
  };
  Val full = first + (last - first) / choice.height * choice.height;
  k.loop(first, full, choice.height, [&](Val entry) { slots(entry, choice.height); });
  k.loop(full, last, 1, [&](Val entry) { slots(entry, 1); });
}

/// 1 x 1: one item of work is a range of rows of dy. Chunks are a whole number of tiles, which registers hold a row of
/// dy of; the rest is taken tile by tile.
void SddmmEmitter::addSingles(Val begin, Val end, const Gradients &gradients) {
  Val firstRow = segmentOf(begin), lastRow = segmentOf(end - 1) + 1;
  auto chunk = [&](Val tile, int64_t tilesHeld) {
    copyChunk(tile, k.index(tilesHeld));
    Val rows = lastRow - firstRow, step = (rows + (choice.items - 1)) / choice.items;
    parallelPieces(k, rows, step, [&](Val pieceBegin, Val pieceEnd) {
      k.loop(firstRow + pieceBegin, firstRow + pieceEnd, 1, [&](Val row) {
        Val first = k.max(order.begin(k, row), begin), last = k.min(order.end(k, row), end);
        addRow(row, first, k.max(first, last), tile, tilesHeld, gradients);
      });
    });
  };
  Val tiles = x.tokens.tiles, full = tiles / choice.chunkTiles * choice.chunkTiles;
  k.loop(0, full, choice.chunkTiles, [&](Val tile) { chunk(tile, choice.chunkTiles); });
  if (choice.chunkTiles > 1)
    k.loop(full, tiles, 1, [&](Val tile) { chunk(tile, 1); });
}

/// The row of dy is loaded once for its slots, which are taken `width` at a time, the rest in smaller powers of two.
void SddmmEmitter::addRow(Val row, Val first, Val last, Val tile, int64_t tilesHeld, const Gradients &gradients) {
  Val dyOffset = offset(dy, tile, row);
  Vals held;
  for (int64_t t = 0; t < tilesHeld; ++t)
    held.append(loadVectors(k, dy.tokens.flat, dyOffset + t * dy.tokens.tileSize(), vectors, lanes, pairs));
  Val begin = first;
  for (int64_t size = std::min(lanes, choice.width); size; size /= 2) {
    Val end = begin + (last - begin) / size * size;
    k.loop(begin, end, size, [&](Val entry) { addGroup(entry, size, tile, held, gradients); });
    begin = end;
  }
}

void SddmmEmitter::addGroup(Val entry, int64_t size, Val tile, const Vals &row, const Gradients &gradients) {
  int64_t tilesHeld = row.size() / vectors;
  Vals sums(size, k.zero(k.vectorOf(lanes, k.b.getF32Type())));
  for (int64_t q = 0; q < size; ++q) {
    Val xOffset = offset(x, tile, order.coordinate(k, entry + q));
    for (int64_t t = 0; t < tilesHeld; ++t) {
      Vals xs = loadVectors(k, x.tokens.flat, xOffset + t * x.tokens.tileSize(), vectors, lanes, pairs);
      for (int64_t n = 0; n < vectors; ++n)
        sums[q] = k.fma(row[t * vectors + n], xs[n], sums[q]);
    }
  }
  addTo(gradients.flat, gradients.place(entry), lanesFrom(k, sumLanes(sums), 0, size), size);
}

/// Dot products over `count` token tiles of the rows at offsets `a` with those at `b`; done(i, sums) gets the sums of
/// b[i] with all of a.
void SddmmEmitter::dots(const Tokens &aTokens, const Vals &a, const Tokens &bTokens, const Vals &b, Val count,
                        function_ref<void(int64_t, Val)> done) {
  int64_t width = a.size(), height = b.size();
  Vals acc(width * height, k.zero(k.vectorOf(lanes, k.b.getF32Type())));
  acc = k.loop(0, count, 1, acc, [&](Val tile, Vals sum) {
    Val aTile = tile * aTokens.tileSize(), bTile = tile * bTokens.tileSize();
    int64_t step = pairs ? 2 : 1;
    for (int64_t n = 0; n < vectors; n += step) {
      SmallVector<Vals> as;
      for (Val offset : a)
        as.push_back(loadVectors(k, aTokens.flat, offset + aTile + n * lanes, step, lanes, pairs));
      for (int64_t i = 0; i < height; ++i) {
        Vals bs = loadVectors(k, bTokens.flat, b[i] + bTile + n * lanes, step, lanes, pairs);
        for (int64_t j = 0; j < width; ++j)
          for (int64_t m = 0; m < step; ++m)
            sum[i * width + j] = k.fma(bs[m], as[j][m], sum[i * width + j]);
      }
    }
    return sum;
  });
  // As many rows of sums as a vector has lanes for are reduced together.
  int64_t padded = llvm::PowerOf2Ceil(width), together = std::max<int64_t>(lanes / padded, 1);
  for (int64_t from = 0; from < height; from += together) {
    int64_t to = std::min(height, from + together);
    Vals group;
    for (int64_t i = from; i < to; ++i)
      for (int64_t j = 0; j < padded; ++j)
        group.push_back(acc[i * width + std::min(j, width - 1)]);
    group.resize(llvm::PowerOf2Ceil(group.size()), group.back());
    Val sums = sumLanes(group);
    for (int64_t i = from; i < to; ++i)
      done(i, lanesFrom(k, sums, (i - from) * padded, width));
  }
}

/// A vector whose lane i is the sum of vectors[i] (a power of two of them, at most `lanes`), each by the same tree
/// whatever its place: inside quarters of four lanes first, then over quarters. Halves the vectors a level while there
/// are several; a last one is folded with itself.
Val SddmmEmitter::sumLanes(Vals vectors) {
  auto fold = [&](function_ref<Val(Val, Val)> pair) {
    Vals folded;
    for (size_t i = 0; i < vectors.size(); i += 2)
      folded.push_back(pair(vectors[i], vectors[std::min(i + 1, vectors.size() - 1)]));
    vectors = folded;
  };
  // Lanes of a and b in turn, `run` at a time: from the first half of every quarter plus from the second.
  for (int64_t run : {1, 2})
    fold([&](Val a, Val b) {
      SmallVector<int64_t> low, high;
      for (int64_t i = 0; i < lanes; ++i) {
        int64_t place = i % 4, source = place / run % 2;
        low.push_back(source * lanes + i - place + place / (2 * run) * run + place % run);
        high.push_back(low.back() + 2);
      }
      return k.shuffle(a, b, low) + k.shuffle(a, b, high);
    });
  // The even quarters of a and b plus the odd ones.
  for (int64_t quarters = lanes / 4; quarters > 1; quarters /= 2)
    fold([&](Val a, Val b) {
      SmallVector<int64_t> even, odd;
      for (int64_t i = 0; i < lanes; ++i) {
        even.push_back(i / 4 * 8 + i % 4);
        odd.push_back(even.back() + 4);
      }
      return k.shuffle(a, b, even) + k.shuffle(a, b, odd);
    });
  return vectors.front();
}

void SddmmEmitter::addTo(Value flat, Val place, Val sums, int64_t width) {
  k.storeVector(k.loadVector(flat, {place}, width) + sums, flat, {place});
}
