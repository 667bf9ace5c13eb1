//===- SparseKernelsSddmm.cpp - SDDMM, alone and with the optimizer -------===//
//
// dW[s] = dyᵀ x at the active slots. One item of work is a range of entries of a walk; its gradients stay in a buffer
// on the stack until they are stored or used up by the optimizer. The tokens are taken in chunks, all entries of the
// item under each, so that activations come from cache. The kernel inside is a tile of dot products: `contiguous` rows,
// whose results lie side by side in the buffer, times a few rows of the other side, summed lane by lane over the tokens
// of a chunk and then over lanes by a fixed tree. What the rows are depends on the block:
//
//   R x C   contiguous: columns of the block (x); others: its rows (dy)
//   1 x C   column walk, contiguous: columns of the block (x); others: the rows of several slots (dy)
//   R x 1   row walk, contiguous: rows of the block (dy); others: the columns of several slots (x)
//   1 x 1   row walk, contiguous: the columns of several slots (x); other: the row (dy), kept in registers
//
//===----------------------------------------------------------------------===//
#include "SparseKernelsAdam.h"

using namespace mlir;
using namespace smet;

namespace {

/// Gradients that an item keeps on the stack, at most (more only if a single block is larger).
constexpr int64_t maxBuffer = 16384;
/// Items that a kernel is split into at least, where it has enough slots. Fewer items read the activations less often:
/// every item reads nearly all rows of the gathered side.
constexpr int64_t minItems = 16;
/// Tokens whose activations are used by all entries of an item before the next ones: those of a block and its row fit
/// the first cache, those of all gathered rows the second.
constexpr int64_t chunkTokens = 256, singlesChunkTokens = 128;
/// Dot products that are summed over lanes together.
constexpr int64_t group = 4;

/// What becomes of the gradients in the buffer: entry e of [begin, end) has its block at (e - begin) * block size.
using Finish = function_ref<void(const Walk &, Val begin, Val end, Value buffer)>;

class SddmmEmitter {
public:
  SddmmEmitter(KernelBuilder &k, const CPUTarget &target, TopologyType type, const TopologyArrays &arrays, Value x,
               Value dy, Val nnz)
      : k(k), rows(type.getBlockRows()), cols(type.getBlockCols()), byColumns(rows == 1 && cols > 1),
        gathers(rows == 1 || cols == 1), walk(byColumns ? columnWalk(type, arrays) : rowWalk(type, arrays)),
        shared(k, byColumns ? x : dy), other(k, byColumns ? dy : x), sharedRows(byColumns ? cols : rows),
        otherRows(byColumns ? rows : cols), nnz(nnz), lanes(lanesFor(target, shared.width)),
        vectors(shared.width / lanes), others(target.numRegisters >= 32 ? 4 : 2),
        chunk(std::max<int64_t>(chunkTokens / shared.width, 1)) {
    if (single())
      chunk = std::max<int64_t>(std::min(singlesChunkTokens / shared.width, target.numRegisters / 2 / vectors), 1);
    tilesHeld = chunk;
  }

  void emit(Finish finish) {
    int64_t size = rows * cols, capacity = std::max<int64_t>(maxBuffer / size, 1);
    Val step = k.max(k.min((nnz + (minItems - 1)) / minItems, capacity), 1);
    parallelPieces(k, nnz, step, [&](Val begin, Val end) {
      Value buffer = k.stack({capacity * size}, k.b.getF32Type()).get();
      vectorLoop(
          k, k.index(0), (end - begin) * size, lanes,
          [&](Val i) { k.storeVector(k.zero(k.vectorOf(lanes, k.b.getF32Type())), buffer, {i}); },
          [&](Val i) { k.store(0, buffer, {i}); });
      Val firstSegment = segmentOf(begin), lastSegment = segmentOf(end - 1);
      forTokens([&](Val from, Val to) {
        k.loop(firstSegment, lastSegment + 1, 1, [&](Val segment) {
          Val first = k.max(walk.begin(k, segment), begin), last = k.min(walk.end(k, segment), end);
          if (single())
            emitSingles(segment, first, last, begin, from, buffer);
          else
            emitBlocks(segment, first, last, begin, from, to - from, buffer);
        });
      });
      finish(walk, begin, end, buffer);
    });
  }

private:
  bool single() const { return rows == 1 && cols == 1; }

  /// body(from, to) for chunks of tiles. Singles keep a whole number of tiles in registers, so that the rest is taken
  /// tile by tile.
  void forTokens(function_ref<void(Val, Val)> body) {
    if (!single())
      return k.loop(0, shared.tiles, chunk, [&](Val from) { body(from, k.min(from + chunk, shared.tiles)); });
    Val full = shared.tiles / chunk * chunk;
    k.loop(0, full, chunk, [&](Val from) { body(from, from + chunk); });
    tilesHeld = 1;
    k.loop(full, shared.tiles, 1, [&](Val from) { body(from, from + 1); });
  }

  /// The segment that an entry belongs to, by bisection.
  Val segmentOf(Val entry) {
    Vals range = {k.index(0), k.index(walk.segments)};
    int64_t steps = llvm::Log2_64_Ceil(walk.segments + 1);
    return k.loop(0, steps, 1, range, [&](Val, Vals r) -> Vals {
      Val middle = (r[0] + r[1]) / 2;
      Val left = k.compare(KernelBuilder::Compare::gt, walk.begin(k, middle), entry);
      return {k.select(left, r[0], middle), k.select(left, middle, r[1])};
    })[0];
  }

  /// Offset of row `row` (of a segment or a coordinate) at token tile `tile`.
  Val rowOffset(const Tokens &tokens, Val tile, Val row) { return tile * tokens.tileSize() + row * tokens.width; }

  void emitBlocks(Val segment, Val first, Val last, Val begin, Val from, Val count, Value buffer) {
    Val sharedOffset = rowOffset(shared, from, segment * sharedRows);
    auto otherOffset = [&](Val entry) { return rowOffset(other, from, walk.coordinate(k, entry) * otherRows); };
    if (gathers) {
      auto slots = [&](Val entry, int64_t size) {
        Vals offsets;
        for (int64_t q = 0; q < size; ++q)
          offsets.push_back(otherOffset(entry + q));
        forPieces(k, sharedRows, group, [&](Val i, int64_t width) {
          dots(shared, rowsFrom(shared, sharedOffset + i * shared.width, width), other, offsets, count,
               [&](int64_t q, Val sums) { addTo(buffer, (entry + q - begin) * sharedRows + i, sums, width); });
        });
      };
      Val full = first + (last - first) / others * others;
      k.loop(first, full, others, [&](Val entry) { slots(entry, others); });
      return k.loop(full, last, 1, [&](Val entry) { slots(entry, 1); });
    }
    k.loop(first, last, 1, [&](Val entry) {
      Val block = (entry - begin) * (rows * cols), xOffset = otherOffset(entry);
      forPieces(k, rows, others, [&](Val r, int64_t height) {
        forPieces(k, cols, group, [&](Val c, int64_t width) {
          dots(other, rowsFrom(other, xOffset + c * other.width, width), shared,
               rowsFrom(shared, sharedOffset + r * shared.width, height), count,
               [&](int64_t i, Val sums) { addTo(buffer, block + (r + i) * cols + c, sums, width); });
        });
      });
    });
  }

  /// 1 x 1: the row of dy is loaded once for all its slots, which are taken four at a time.
  void emitSingles(Val segment, Val first, Val last, Val begin, Val from, Value buffer) {
    Val dyOffset = rowOffset(shared, from, segment);
    Vals dy;
    for (int64_t t = 0; t < tilesHeld; ++t)
      for (int64_t n = 0; n < vectors; ++n)
        dy.push_back(load(shared, dyOffset + (t * shared.tileSize() + n * lanes)));
    k.loop(first, last, group, [&](Val entry) {
      Val count = k.min(last - entry, group), final = last - 1;
      Vals acc(group, k.zero(k.vectorOf(lanes, k.b.getF32Type())));
      for (int64_t q = 0; q < group; ++q) {
        // Behind the last slot: the last one again, not stored.
        Val xOffset = rowOffset(other, from, walk.coordinate(k, k.min(entry + q, final)));
        for (int64_t t = 0; t < tilesHeld; ++t)
          for (int64_t n = 0; n < vectors; ++n)
            acc[q] = k.fma(dy[t * vectors + n], load(other, xOffset + (t * other.tileSize() + n * lanes)), acc[q]);
      }
      Val place = entry - begin;
      k.storeFirst(sumLanes(acc) + k.loadFirst(buffer, place, count, group), buffer, place, count);
    });
  }

  Vals rowsFrom(const Tokens &tokens, Val offset, int64_t count) {
    Vals offsets;
    for (int64_t i = 0; i < count; ++i)
      offsets.push_back(offset + i * tokens.width);
    return offsets;
  }

  Val load(const Tokens &tokens, Val offset) { return k.loadVector(tokens.flat.get(), {offset}, lanes); }

  /// Dot products over `count` token tiles of the rows at offsets `a` (up to `group`) with those at `b`; done(i, sums)
  /// gets the sums of b[i] with all of a.
  void dots(const Tokens &aTokens, const Vals &a, const Tokens &bTokens, const Vals &b, Val count,
            function_ref<void(int64_t, Val)> done) {
    int64_t width = a.size(), height = b.size();
    Vals acc(width * height, k.zero(k.vectorOf(lanes, k.b.getF32Type())));
    acc = k.loop(0, count, 1, acc, [&](Val tile, Vals sum) {
      Val aTile = tile * aTokens.tileSize(), bTile = tile * bTokens.tileSize();
      for (int64_t n = 0; n < vectors; ++n) {
        Vals as;
        for (Val offset : a)
          as.push_back(load(aTokens, offset + aTile + n * lanes));
        for (int64_t i = 0; i < height; ++i) {
          Val bVector = load(bTokens, b[i] + bTile + n * lanes);
          for (int64_t j = 0; j < width; ++j)
            sum[i * width + j] = k.fma(bVector, as[j], sum[i * width + j]);
        }
      }
      return sum;
    });
    for (int64_t i = 0; i < height; ++i) {
      Vals four(acc.begin() + i * width, acc.begin() + (i + 1) * width);
      four.resize(group, four.back());
      done(i, sumLanes(four));
    }
  }

  /// The sums of four vectors, each by the same tree whatever its place: in quarters of four lanes first, then halves
  /// of what is left.
  Val sumLanes(const Vals &four) {
    // Lanes of a and b in turn, `run` at a time, from lane `start` of every quarter.
    auto zip = [&](Val a, Val b, int64_t run, int64_t start) {
      SmallVector<int64_t> mask;
      for (int64_t i = 0; i < lanes; ++i) {
        int64_t place = i % 4, source = place / run % 2;
        mask.push_back(source * lanes + i - place + start + (place / (2 * run)) * run + place % run);
      }
      return k.shuffle(a, b, mask);
    };
    auto fold = [&](Val a, Val b, int64_t run) { return zip(a, b, run, 0) + zip(a, b, run, 2); };
    Val sums = fold(fold(four[0], four[1], 1), fold(four[2], four[3], 1), 2);
    for (int64_t width = lanes / 2; width >= group; width /= 2) {
      auto low = llvm::to_vector(llvm::seq<int64_t>(0, width)), high = llvm::to_vector(llvm::seq(width, 2 * width));
      sums = k.shuffle(sums, sums, low) + k.shuffle(sums, sums, high);
    }
    return sums;
  }

  void addTo(Value buffer, Val place, Val sums, int64_t width) {
    if (width == group)
      return k.storeVector(k.loadVector(buffer, {place}, group) + sums, buffer, {place});
    for (int64_t i = 0; i < width; ++i)
      k.store(k.load(buffer, {place + i}) + k.extract(sums, i), buffer, {place + i});
  }

  KernelBuilder &k;
  int64_t rows, cols;
  bool byColumns, gathers;
  Walk walk;
  Tokens shared, other;          ///< activations of the walk's segments and coordinates
  int64_t sharedRows, otherRows; ///< the sides of a block that belong to them
  Val nnz;
  int64_t lanes, vectors;
  int64_t others;    ///< rows that are not contiguous in a tile of dot products
  int64_t chunk;     ///< token tiles of a chunk
  int64_t tilesHeld; ///< token tiles of which a row of dy is in registers
};

bool supported(const CPUTarget &target, Value x, Value dy) {
  return isPackedF32(x) && isPackedF32(dy) && lanesFor(target, cast<MemRefType>(x.getType()).getDimSize(2)) >= group;
}

struct SddmmKernel : CPUKernel<SddmmOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(SddmmOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !supported(target, op.getX(), op.getDy()) || !isF32(op.getDvalues()))
      return failure();
    TopologyType type = op.getTopology().getType();
    int64_t size = type.getBlockSize();
    Value dvalues = k.flatten(op.getDvalues()).get();
    auto put = [&](Value buffer, Val from, Val to, int64_t lanes) {
      auto load = [&](Value array, Val at) { return lanes ? k.loadVector(array, {at}, lanes) : k.load(array, {at}); };
      Val sum = load(buffer, from);
      if (op.getAccumulate())
        sum = load(dvalues, to) + sum;
      lanes ? k.storeVector(sum, dvalues, {to}) : k.store(sum, dvalues, {to});
    };
    SddmmEmitter emitter(k, target, type, *arrays, op.getX(), op.getDy(), k.size(op.getDvalues(), 0));
    emitter.emit([&](const Walk &walk, Val begin, Val end, Value buffer) {
      int64_t lanes = target.vectorBits / 32;
      auto copy = [&](Val from, Val to, Val count) {
        vectorLoop(
            k, k.index(0), count, lanes, [&](Val i) { put(buffer, from + i, to + i, lanes); },
            [&](Val i) { put(buffer, from + i, to + i, 0); });
      };
      if (!walk.perm)
        return copy(k.index(0), begin * size, (end - begin) * size);
      k.loop(begin, end, 1,
             [&](Val entry) { copy((entry - begin) * size, walk.slot(k, entry) * size, k.index(size)); });
    });
    return success();
  }
};

struct SddmmAdamKernel : CPUKernel<SddmmAdamOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(SddmmAdamOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !supported(target, op.getX(), op.getDy()) || !isF32(op.getValues()) || !isF32(op.getM()) ||
        !isF32(op.getV()))
      return failure();
    TopologyType type = op.getTopology().getType();
    int64_t size = type.getBlockSize();
    AdamEmitter adam(k, target, op.getAdamw(), op.getLr(), op.getStep(),
                     densityFor(k, op.getAdamw(), type, op.getValues()),
                     /*countsAge=*/true);
    Value w = k.flatten(op.getValues()).get(), m = k.flatten(op.getM()).get(), v = k.flatten(op.getV()).get(),
          age = op.getAge();
    SddmmEmitter emitter(k, target, type, *arrays, op.getX(), op.getDy(), k.size(op.getValues(), 0));
    emitter.emit([&](const Walk &walk, Val begin, Val end, Value buffer) {
      auto load = [&](Val at, int64_t lanes) {
        return lanes ? k.loadVector(buffer, {at}, lanes) : k.load(buffer, {at});
      };
      if (size == 1)
        return adam.updateSingles(
            begin, end, [&](Val slot, int64_t lanes) { return load(slot - begin, lanes); }, w, m, v, age);
      k.loop(begin, end, 1, [&](Val entry) {
        auto gradient = [&](Val i, int64_t lanes) { return load((entry - begin) * size + i, lanes); };
        adam.updateSlot(walk.slot(k, entry), size, gradient, w, m, v, age);
      });
    });
    return success();
  }
};

} // namespace

void smet::populateSddmmKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<SddmmKernel, SddmmAdamKernel>(patterns.getContext(), target);
}
