//===- DenseProduct.cpp - dense matrix products by SIMT -------------------===//
//
// A block has 64 x 64 elements of C, a thread 8 x 4 of them in registers. Both operands pass through shared memory in
// f32, 16 of the sum's terms at a time and turned so that these are rows: while the threads multiply one buffer, what
// they store to the other is on its way to their registers. One barrier a step.
//
//===----------------------------------------------------------------------===//
#include "DenseProduct.h"

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

static constexpr int64_t piece = 4;

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

DenseMatrix DenseMatrix::of(const Activation &activation) {
  return {activation.memref, activation.features, activation.tokens, 0, /*wholePieces=*/true};
}

DenseMatrix DenseMatrix::of(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return {memref, type.getDimSize(0), type.getDimSize(1), 0, type.getDimSize(1) % piece == 0};
}

DenseMatrix DenseMatrix::slice(Val first, Val count) const {
  return {memref, rows, count, first, /*wholePieces=*/true};
}

Vals DenseMatrix::at(Val row, Val column) const {
  Vals indices(cast<MemRefType>(memref.getType()).getRank() - 2, Val(0));
  indices.append({row, firstColumn.isConstant() && !firstColumn.constantValue() ? column : firstColumn + column});
  return indices;
}

Val DenseMatrix::load(KernelBuilder &k, Val row, Val column) const {
  Val isRow = k.compare(Compare::lt, row, rows), nearest = k.min(row, k.toIndex(rows) - 1);
  auto isInside = [&](Val column) { return k.bitAnd(isRow, k.compare(Compare::lt, column, columns)); };
  Type f32 = k.b.getF32Type();
  Val values = k.zero(k.vectorOf(piece, f32));
  if (wholePieces) {
    Val nearestColumn = k.min(column, k.toIndex(columns) - piece);
    return k.select(isInside(column), k.loadVector(memref, at(nearest, nearestColumn), piece), values);
  }
  for (int64_t i = 0; i < piece; ++i) {
    Val here = column + k.index(i), element = k.load(memref, at(nearest, k.min(here, k.toIndex(columns) - 1)));
    values = k.insert(k.select(isInside(here), element, k.zero(f32)), values, i);
  }
  return values;
}

void DenseMatrix::store(KernelBuilder &k, Val values, Val row, Val column, Val adds) const {
  auto sum = [&](Val before, Val value) { return adds ? k.select(adds, before + value, value) : value; };
  auto load = [&](Val here, int64_t lanes) {
    if (!adds)
      return Val();
    return lanes ? k.loadVector(memref, at(row, here), lanes) : k.load(memref, at(row, here));
  };
  k.ifThen(k.compare(Compare::lt, row, rows), [&] {
    if (wholePieces)
      return k.ifThen(k.compare(Compare::lt, column, columns),
                      [&] { k.storeVector(sum(load(column, piece), values), memref, at(row, column)); });
    for (int64_t i = 0; i < piece; ++i) {
      Val here = column + k.index(i);
      k.ifThen(k.compare(Compare::lt, here, columns),
               [&] { k.store(sum(load(here, 0), k.extract(values, i)), memref, at(row, here)); });
    }
  });
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t side = 64, depth = 16, threads = 128, rowsOfThread = 8;

/// A factor's way to a block: 64 of its outer indices, from memory to registers to shared memory.
class Staging {
public:
  Staging(GPUBuilder &k, const Factor &factor, Val first, Val thread)
      : k(k), factor(factor), first(first), thread(thread),
        // Four more columns: those that a warp stores along rows lie in two banks each, not in eight.
        buffers(k.shared({2, depth, side + piece}, k.b.getF32Type())) {}

  /// What this thread brings of the terms from `d0` on.
  Vals load(Val d0) const {
    Vals pieces;
    forPieces([&](int64_t, Val d, Val outer) {
      pieces.push_back(factor.alongRows ? factor.matrix.load(k, first + outer, d0 + d)
                                        : factor.matrix.load(k, d0 + d, first + outer));
    });
    return pieces;
  }
  void store(ArrayRef<Val> pieces, Val buffer) const {
    forPieces([&](int64_t i, Val d, Val outer) {
      if (!factor.alongRows)
        return k.storeVector(pieces[i], buffers, {buffer, d, outer});
      for (int64_t j = 0; j < piece; ++j)
        k.store(k.extract(pieces[i], j), buffers, {buffer, d + k.index(j), outer});
    });
  }
  Val read(Val buffer, Val d, Val outer) const { return k.loadVector(buffers, {buffer, d, outer}, piece); }

  static constexpr int64_t pieces = side * depth / piece / threads; ///< of a thread

private:
  void forPieces(function_ref<void(int64_t, Val, Val)> body) const {
    for (int64_t i = 0; i < pieces; ++i) {
      Val p = thread + k.index(i * threads);
      constexpr int64_t alongDepth = depth / piece, alongSide = side / piece;
      if (factor.alongRows)
        body(i, p % k.index(alongDepth) * k.index(piece), p / k.index(alongDepth));
      else
        body(i, p / k.index(alongSide), p % k.index(alongSide) * k.index(piece));
    }
  }

  GPUBuilder &k;
  const Factor &factor;
  Val first, thread;
  Value buffers;
};

} // namespace

void smet::denseProduct(GPUBuilder &k, const Factor &left, const Factor &right,
                        function_ref<void(Val, Val, Val)> store) {
  auto tiles = [&](Val size) { return (k.toIndex(size) + (side - 1)) / k.index(side); };
  Val across = tiles(right.outer());
  k.launch(tiles(left.outer()) * across, threads, [&](Val block, Val thread) {
    Val firstRow = block / across * k.index(side), firstColumn = block % across * k.index(side);
    Staging rows(k, left, firstRow, thread), columns(k, right, firstColumn, thread);
    Val row = thread / k.index(side / piece) * k.index(rowsOfThread);
    Val column = thread % k.index(side / piece) * k.index(piece);
    Vals state(rowsOfThread, k.zero(k.vectorOf(piece, k.b.getF32Type())));
    auto append = [](Vals values, const Vals &more) {
      values.append(more);
      return values;
    };
    state = append(append(state, rows.load(k.index(0))), columns.load(k.index(0)));
    Val steps = (k.toIndex(left.depth()) + (depth - 1)) / k.index(depth);
    state = k.loop(0, steps, 1, state, [&](Val step, Vals state) -> Vals {
      Val buffer = step % k.index(2);
      ArrayRef<Val> staged = ArrayRef(state).drop_front(rowsOfThread);
      rows.store(staged.take_front(Staging::pieces), buffer);
      columns.store(staged.drop_front(Staging::pieces), buffer);
      k.barrier();
      Val next = (step + 1) * k.index(depth);
      Vals loaded = append(rows.load(next), columns.load(next));
      constexpr int64_t unrolled = 4;
      Vals sums(ArrayRef(state).take_front(rowsOfThread));
      sums = k.loop(0, depth, unrolled, sums, [&](Val d0, Vals sums) -> Vals {
        for (int64_t i = 0; i < unrolled; ++i) {
          Val d = d0 + k.index(i), factors = columns.read(buffer, d, column);
          for (int64_t r = 0; r < rowsOfThread; r += piece) {
            Val weights = rows.read(buffer, d, row + k.index(r));
            for (int64_t j = 0; j < piece; ++j)
              sums[r + j] = k.fma(k.extract(weights, j), factors, sums[r + j]);
          }
        }
        return sums;
      });
      return append(sums, loaded);
    });
    for (int64_t r = 0; r < rowsOfThread; ++r)
      store(firstRow + row + k.index(r), firstColumn + column, state[r]);
  });
}

void smet::denseProduct(GPUBuilder &k, const Factor &left, const Factor &right, const DenseMatrix &c) {
  denseProduct(k, left, right, [&](Val row, Val column, Val piece) { c.store(k, piece, row, column); });
}
