//===- Products.cpp - dense products on register tiles --------------------===//
#include "Products.h"

using namespace mlir;
using namespace smet;

Matrix Matrix::from(Val first) const {
  Matrix part = *this;
  (transposed ? part.row : part.column) = (transposed ? row : column) + first;
  return part;
}

Matrix Matrix::turned() const {
  Matrix other = *this;
  other.transposed = !transposed;
  return other;
}

Vals Matrix::at(Val i, Val j) const {
  Vals indices(outer);
  indices.push_back(row + (transposed ? j : i));
  indices.push_back(column + (transposed ? i : j));
  return indices;
}

Product::Product(KernelBuilder &k, const CPUTarget &target, int64_t lanes, int64_t group)
    : piece(pieceOf(lanes, target)), k(k), target(target), lanes(lanes), group(group) {}

void Product::emitGroup(Val first, int64_t count, Val lane, Terms terms, Left left, Right right, Result result,
                        Ahead ahead) const {
  if (ahead)
    ahead(first, count, lane);
  Vals sums(count, k.zero(k.vectorOf(piece, k.b.getF32Type())));
  sums = k.loop(terms.begin, terms.end, 1, sums, [&](Val i, Vals sums) -> Vals {
    return k.loop(0, terms.depth, 1, sums, [&](Val d, Vals sums) -> Vals {
      Val vector = right(i, d, lane);
      for (int64_t r = 0; r < count; ++r)
        sums[r] = k.fma(left(first + k.index(r), i, d), vector, sums[r]);
      return sums;
    });
  });
  result(first, lane, sums);
}

void Product::emitGroups(Val rows, Terms terms, Left left, Right right, Result result, Ahead ahead) const {
  k.loop(0, lanes, piece, [&](Val lane) {
    k.loop(0, rows, group, [&](Val first) { emitGroup(first, group, lane, terms, left, right, result, ahead); });
  });
}

void Product::emit(int64_t rows, Terms terms, Left left, Right right, Result result, Ahead ahead) const {
  int64_t full = rows / group * group;
  k.loop(0, lanes, piece, [&](Val lane) {
    if (full)
      k.loop(0, full, group, [&](Val first) { emitGroup(first, group, lane, terms, left, right, result, ahead); });
    if (rows > full)
      emitGroup(k.index(full), rows - full, lane, terms, left, right, result, ahead);
  });
}

void Product::store(Val adds, Vals sums, const Matrix &c, Val row, Val lane) const {
  auto at = [&](size_t r) { return c.at(row + k.index(r), lane); };
  SmallVector<Type> types(sums.size(), sums[0].type());
  Vals stored = k.ifElse(
      adds, types,
      [&] {
        Vals total;
        for (auto [r, sum] : llvm::enumerate(sums))
          total.push_back(sum + k.loadVector(c.memref, at(r), piece));
        return total;
      },
      [&] { return sums; });
  for (auto [r, value] : llvm::enumerate(stored))
    k.storeVector(value, c.memref, at(r));
}

void Product::forChunks(int64_t depth, Chunk body) const {
  int64_t full = depth / productDepth * productDepth;
  if (full)
    k.loop(0, full, productDepth, [&](Val begin) { body(begin, productDepth); });
  if (depth > full)
    body(k.index(full), depth - full);
}

void Product::emitChunk(int64_t rows, Val begin, int64_t size, const Matrix &a, const Matrix &b, const Matrix &c,
                        Val before, Ahead ahead) const {
  Val adds = k.compare(KernelBuilder::Compare::gt, before + begin, 0);
  emit(
      rows, {0, 1, size}, [&](Val row, Val, Val d) { return k.load(a.memref, a.at(row, d)); },
      [&](Val, Val d, Val lane) { return k.loadVector(b.memref, b.at(begin + d, lane), piece); },
      [&](Val row, Val lane, Vals sums) { store(adds, sums, c, row, lane); }, ahead);
}

void Product::multiply(int64_t rows, int64_t depth, const Matrix &a, const Matrix &b, const Matrix &c,
                       Val before) const {
  forChunks(depth, [&](Val begin, int64_t size) { emitChunk(rows, begin, size, a.from(begin), b, c, before); });
}

Matrix Product::widen(const Matrix &b, Val begin, int64_t size) const {
  if (isF32(b.memref))
    return b;
  Value wide = k.stack({size, lanes}, k.b.getF32Type()).get();
  Matrix rows = b;
  rows.row = b.row + begin;
  copy(k, target, size, lanes, rows, {wide});
  return {wide, {}, /*row=*/k.index(0) - begin};
}

/// Asks for share `step` of `steps` of a matrix's lines.
static void prefetchShare(KernelBuilder &k, const Matrix &matrix, int64_t rows, int64_t columns, Val step, Val steps) {
  constexpr int64_t line = 16;
  int64_t lines = llvm::divideCeil(columns, line), total = rows * lines;
  Val share = (steps + (total - 1)) / steps, begin = step * share, end = k.min(begin + share, k.index(total));
  k.loop(begin, end, 1, [&](Val i) { k.prefetch(matrix.memref, matrix.at(i / lines, i % lines * line)); });
}

void Product::multiplyAll(int64_t rows, int64_t depth, const Matrix &a, Val begin, Val end, MatrixAt b,
                          MatrixAt c) const {
  Matrix packed{k.stack({rows, std::min(depth, productDepth)}, k.b.getF32Type()).get()};
  Val groups = k.index(llvm::divideCeil(rows, group)), steps = (end - begin) * groups;
  forChunks(depth, [&](Val first, int64_t size) {
    Matrix chunk = a.from(first);
    if (!a.transposed)
      copy(k, target, rows, size, chunk, packed);
    else
      transpose(k, target, k.index(size), rows, chunk.turned(), packed);
    // Columns of A lie in short pieces, which the processor does not foresee.
    Matrix next = a.from(k.min(first + size, k.index(depth - size))).turned();
    k.loop(begin, end, 1, [&](Val i) {
      auto ahead = [&](Val row, int64_t, Val) {
        prefetchShare(k, next, size, rows, (i - begin) * groups + row / group, steps);
      };
      emitChunk(rows, first, size, packed, widen(b(i), first, size), c(i), /*before=*/0,
                a.transposed ? Ahead(ahead) : nullptr);
    });
  });
}

void smet::panelAt(KernelBuilder &k, int64_t rows, int64_t size, Val i, function_ref<void(Val, int64_t)> body) {
  int64_t full = rows / size, rest = rows % size;
  if (!rest)
    return body(i * size, size);
  if (!full)
    return body(k.index(0), rest);
  k.ifElse(
      k.compare(KernelBuilder::Compare::lt, i, k.index(full)), [&] { body(i * size, size); },
      [&] { body(k.index(full * size), rest); });
}

void smet::forPanels(KernelBuilder &k, int64_t rows, int64_t size, bool parallel,
                     function_ref<void(Val, int64_t)> body) {
  if (parallel)
    return k.parallel(k.index(llvm::divideCeil(rows, size)), [&](Val i) { panelAt(k, rows, size, i, body); });
  int64_t full = rows / size * size;
  if (full)
    k.loop(0, full, size, [&](Val first) { body(first, size); });
  if (rows > full)
    body(k.index(full), rows - full);
}

void smet::forGroupsOfPanels(KernelBuilder &k, Val tiles, int64_t group, int64_t rows, int64_t panel,
                             function_ref<void(Val, Val, Val, int64_t)> body) {
  Val groups = (tiles + (group - 1)) / k.index(group);
  int64_t panels = llvm::divideCeil(rows, panel);
  k.parallel(groups * panels, [&](Val item) {
    Val begin = item / panels * group, end = k.min(begin + group, tiles);
    panelAt(k, rows, panel, item % panels, [&](Val first, int64_t count) { body(begin, end, first, count); });
  });
}

void smet::copy(KernelBuilder &k, const CPUTarget &target, int64_t rows, int64_t columns, const Matrix &from,
                const Matrix &to) {
  int64_t vector = target.vectorBits / 32, whole = columns / vector * vector;
  k.loop(0, rows, 1, [&](Val i) {
    k.loop(0, whole, vector,
           [&](Val j) { k.storeVector(k.loadVector(from.memref, from.at(i, j), vector), to.memref, to.at(i, j)); });
    k.loop(whole, columns, 1, [&](Val j) { k.store(k.load(from.memref, from.at(i, j)), to.memref, to.at(i, j)); });
  });
}

/// Rows of a square become its columns: log2(n) steps, each of which exchanges halves of the rows' parts.
static void transposeSquare(KernelBuilder &k, Vals &rows) {
  int64_t n = rows.size();
  for (int64_t half = n / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < n; ++lane) {
      low.push_back(lane & half ? n + lane - half : lane);
      high.push_back(lane & half ? n + lane : lane + half);
    }
    for (int64_t i = 0; i < n; ++i)
      if (!(i & half)) {
        Val a = rows[i], b = rows[i + half];
        rows[i] = k.shuffle(a, b, low);
        rows[i + half] = k.shuffle(a, b, high);
      }
  }
}

void smet::transpose(KernelBuilder &k, const CPUTarget &target, Val rows, int64_t columns, const Matrix &from,
                     const Matrix &to) {
  int64_t side = target.vectorBits / 32;
  Val squares = columns % side ? k.index(0) : rows / side * side;
  k.loop(0, squares, side, [&](Val i) {
    k.loop(0, columns, side, [&](Val j) {
      Vals square;
      for (int64_t r = 0; r < side; ++r)
        square.push_back(k.loadVector(from.memref, from.at(i + k.index(r), j), side));
      transposeSquare(k, square);
      for (int64_t r = 0; r < side; ++r)
        k.storeVector(square[r], to.memref, to.at(j + k.index(r), i));
    });
  });
  k.loop(squares, rows, 1, [&](Val i) {
    k.loop(0, columns, 1, [&](Val j) { k.store(k.load(from.memref, from.at(i, j)), to.memref, to.at(j, i)); });
  });
}

//===----------------------------------------------------------------------===//
// Sums over tokens
//===----------------------------------------------------------------------===//

TransposedTiles::TransposedTiles(KernelBuilder &k, const CPUTarget &target, const Tiles &x, int64_t tiles)
    : k(k), target(target), x(x) {
  array = k.workspace({panels(), tiles * x.lanes, panel}, k.b.getF32Type()).get();
}

void TransposedTiles::fill(Val begin, Val end) const {
  k.parallel(panels(), [&](Val p) {
    Val first = p * panel, count = k.min(k.index(x.features) - first, k.index(panel));
    k.loop(begin, end, 1, [&](Val tile) {
      transpose(k, target, count, x.lanes, {x.memref, {tile}, first}, {array, {p}, (tile - begin) * x.lanes});
    });
  });
}

OuterProduct::OuterProduct(KernelBuilder &k, const CPUTarget &target, const Tiles &x)
    : k(k), target(target), x(x), transposed(k, target, x, x.tiles) {
  transposed.fill(0, k.index(x.tiles));
}

void OuterProduct::emit(const Tiles &dy, Val begin, Val end, int64_t rows, Value dw) const {
  // 96 rows of 2,048 tokens of dy are 768 KiB, and stay in the second-level cache for all columns of a part.
  int64_t partRows = evenPanel(rows, 96), partColumns = 4 * panel;
  int64_t columns = x.features / panel * panel, rest = x.features - columns;
  // What is left of the columns is cut into whole vectors and single lanes.
  int64_t vector = target.vectorBits / 32, wide = rest / vector * vector;
  int64_t full = llvm::divideCeil(columns, partColumns), parts = full + (rest != 0);
  k.parallel(k.index(llvm::divideCeil(rows, partRows) * parts), [&](Val item) {
    Val part = item % parts;
    panelAt(k, rows, partRows, item / parts, [&](Val row, int64_t count) {
      auto emit = [&](Val column, int64_t width) { emitPart(dy, begin, end, row, count, dw, column, width); };
      if (full) {
        Val first = part * partColumns, last = k.min(first + partColumns, k.index(columns));
        k.loop(first, last, panel, [&](Val column) { emit(column, panel); });
      }
      if (rest)
        k.ifThen(k.compare(KernelBuilder::Compare::eq, part, k.index(full)), [&] {
          if (wide)
            emit(k.index(columns), wide);
          if (rest > wide)
            emit(k.index(columns + wide), rest - wide);
        });
    });
  });
}

void OuterProduct::emitPart(const Tiles &dy, Val begin, Val end, Val row, int64_t rows, Value dw, Val column,
                            int64_t width) const {
  // Tiles of a pass over dw, so that what it uses of x stays in the first-level cache.
  int64_t pass = std::max<int64_t>(productDepth / x.lanes, 1);
  Product product(k, target, width);
  Matrix c{dw, {}, row, column};
  Val p = column / panel, offset = column % panel;
  k.loop(begin, end, pass, [&](Val tile) {
    Val adds = k.compare(KernelBuilder::Compare::gt, tile, 0);
    product.emit(
        rows, {tile, k.min(tile + pass, end), x.lanes},
        [&](Val r, Val i, Val d) {
          return k.load(dy.memref, {i - begin, row + r, d});
        },
        [&](Val i, Val d, Val lane) { return transposed.load(p, i * x.lanes + d, offset + lane, product.piece); },
        [&](Val r, Val lane, Vals sums) { product.store(adds, sums, c, r, lane); },
        // dw may be larger than every cache.
        [&](Val r, int64_t count, Val lane) {
          for (int64_t i = 0; i < count; ++i)
            for (int64_t j = 0; j < product.piece; j += 16)
              k.prefetch(dw, c.at(r + k.index(i), lane + k.index(j)));
        });
  });
}
