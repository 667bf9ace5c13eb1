//===- SparseSpmmPanels.cpp - SpMM for blocks of one weight ---------------===//
//
// One item of work is a few token vectors and a range of outputs. The inputs are taken in panels, whose x rows stay in
// cache while all outputs of the item use them: an output's sums are loaded, kept in registers over its entries in the
// panel, and stored. A load of x serves one FMA here, so that its distance bounds the speed.
//
// The transposed walk finds a weight through the slot permutation, far from the one before. So the weights are first
// copied in the order of the walk, for as many outputs at a time as fit bounded scratch.
//
// What is stored in bf16 is converted once: an item copies the x rows of a panel, and keeps its sums in f32 until the
// last one.
//
//===----------------------------------------------------------------------===//
#include "SparseSpmm.h"

using namespace mlir;
using namespace smet;

namespace {

/// Weights that an item of work copies.
constexpr int64_t itemWeights = 4096;
/// Bytes of an item's sums in f32 beside outputs in bf16, at most: they lie on a thread's stack.
constexpr int64_t maxSumsBytes = 1 << 20;

class PanelsSpmm {
public:
  PanelsSpmm(const SpmmOperands &o, const SpmmChoice &choice)
      : o(o), k(o.k), choice(choice), pieces(piecesOf(o, choice)), walk(o.byOutputs),
        panels(k, walk, o.x.features, choice.panel,
               k.select(isDense(k, o.type, k.size(o.values.get(), 0)), 1, choice.sparsePanels)) {}

  void emit() {
    if (!walk.perm)
      return emitOutputs(k.index(0), k.index(walk.segments),
                         [&](function_ref<void(Weight)> body) { body([&](Val entry) { return o.weight(entry); }); });
    TopologyType type = o.type;
    int64_t capacity = std::max<int64_t>(type.getNumBlocks() / 4, 1);
    Value copy = k.workspace({capacity}, k.b.getF32Type()).get();
    Val rounds = k.min(k.size(o.values.get(), 0) / capacity + 1, walk.segments);
    k.loop(0, rounds, 1, [&](Val round) {
      Val first = round * walk.segments / rounds, last = (round + 1) * walk.segments / rounds;
      emitRound(first, last, copy, capacity);
    });
  }

private:
  /// The broadcast weight of an entry.
  using Weight = function_ref<Val(Val)>;

  /// Outputs [first, last), with weights from the copy unless these have more than their share of entries.
  void emitRound(Val first, Val last, Value copy, int64_t capacity) {
    Val begin = walk.begin(k, first), entries = walk.begin(k, last) - begin;
    Val fits = k.compare(KernelBuilder::Compare::le, entries, capacity);
    parallelPieces(k, k.select(fits, entries, k.index(0)), itemWeights, [&](Val pieceBegin, Val pieceEnd) {
      k.loop(pieceBegin, pieceEnd, 1,
             [&](Val i) { k.store(k.load(o.values.get(), {walk.slot(k, begin + i)}), copy, {i}); });
    });
    emitOutputs(first, last, [&](function_ref<void(Weight)> body) {
      k.ifElse(
          fits, [&] { body([&](Val entry) { return k.broadcast(k.load(copy, {entry - begin}), o.lanes); }); },
          [&] { body([&](Val entry) { return o.weight(walk.slot(k, entry)); }); });
    });
  }

  /// withWeights(body) emits body for each way to find a weight.
  void emitOutputs(Val first, Val last, function_ref<void(function_ref<void(Weight)>)> withWeights) {
    int64_t tokens = choice.columns * o.lanes, parts = o.x.width / tokens, perGroup = pieces * parts;
    auto items = [&](Val firstTile, Val count, int64_t held) {
      k.parallel(count * perGroup, [&](Val item) {
        Val tile = firstTile + item / perGroup * held, piece = item % perGroup / parts, lane = item % parts * tokens;
        Val outputs = last - first, begin = first + piece * outputs / pieces,
            end = first + (piece + 1) * outputs / pieces;
        Rows x(o.x, tile * o.x.tileSize() + lane), y(o.y, tile * o.y.tileSize() + lane), panel = x, sums = y;
        if (o.x.isBF16())
          panel = scratch(std::min(choice.panel * choice.sparsePanels, o.x.features), held);
        if (o.y.isBF16())
          sums = scratch(llvm::divideCeil(walk.segments, pieces), held).from(begin);
        if (o.y.isBF16() && o.accumulate)
          copy(y, sums, begin, end, held);
        withWeights([&](Weight weight) { emitPiece(begin, end, held, x, panel, sums, weight); });
        if (o.y.isBF16())
          copy(sums, y, begin, end, held);
      });
    };
    Val groups = o.x.tiles / choice.tiles;
    items(k.index(0), groups, choice.tiles);
    if (choice.tiles > 1)
      items(groups * choice.tiles, o.x.tiles % choice.tiles, 1);
  }

  static int64_t piecesOf(const SpmmOperands &o, const SpmmChoice &choice) {
    int64_t bytes = 4 * choice.tiles * choice.columns * o.lanes * o.y.features;
    return o.y.isBF16() ? std::max<int64_t>(choice.pieces, llvm::divideCeil(bytes, maxSumsBytes)) : choice.pieces;
  }

  /// Rows of an activation in the token vectors of an item: `width` apart, those of the next tile `tileSize` behind.
  struct Rows {
    Rows(const Tokens &tokens, Val offset)
        : flat(tokens.flat), offset(offset), width(tokens.width), tileSize(tokens.tileSize()) {}
    Rows(Val flat, int64_t width, int64_t tileSize) : flat(flat), offset(0), width(width), tileSize(tileSize) {}
    /// Row `first` in the place of row 0.
    Rows from(Val first) const {
      Rows moved = *this;
      moved.offset = offset - first * width;
      return moved;
    }

    Val flat, offset;
    int64_t width, tileSize;
  };

  Rows scratch(int64_t rows, int64_t held) {
    int64_t tokens = choice.columns * o.lanes;
    return Rows(k.stack({held * rows * tokens}, k.b.getF32Type()), tokens, rows * tokens);
  }

  /// A row in `held` tiles.
  Vals load(const Rows &rows, Val row, int64_t held) {
    Vals vectors;
    for (int64_t t = 0; t < held; ++t)
      vectors.append(o.load(rows.flat, rows.offset + row * rows.width + t * rows.tileSize, choice.columns));
    return vectors;
  }
  void store(const Vals &vectors, const Rows &rows, Val row, int64_t held) {
    for (int64_t t = 0; t < held; ++t)
      o.store(ArrayRef(vectors).slice(t * choice.columns, choice.columns), rows.flat,
              rows.offset + row * rows.width + t * rows.tileSize);
  }
  void copy(const Rows &source, const Rows &target, Val begin, Val end, int64_t held) {
    k.loop(begin, end, 1, [&](Val row) { store(load(source, row, held), target, row, held); });
  }

  /// x in panels, each read from `copied` where that is another array.
  void emitPiece(Val begin, Val end, int64_t held, const Rows &x, const Rows &copied, const Rows &y, Weight weight) {
    auto pass = [&](Val panel, bool adds) {
      Rows rows = copied;
      if (o.x.isBF16()) {
        Val first = panels.first(panel);
        rows = copied.from(first);
        copy(x, rows, first, k.min(panels.first(panel + 1), k.index(o.x.features)), held);
      }
      k.loop(begin, end, 1, [&](Val output) {
        emitOutput(output, panels.begin(output, panel), panels.end(output, panel), held, adds, rows, y, weight);
      });
    };
    pass(k.index(0), o.accumulate);
    k.loop(1, panels.count(), 1, [&](Val panel) { pass(panel, true); });
  }

  void emitOutput(Val output, Val begin, Val end, int64_t held, bool adds, const Rows &x, const Rows &y,
                  Weight weight) {
    Vals sums = adds ? load(y, output, held) : Vals(held * choice.columns, o.zero());
    sums = k.loop(begin, end, 1, sums, [&](Val entry, Vals sum) {
      Val w = weight(entry);
      for (auto [s, vector] : llvm::zip_equal(sum, load(x, walk.coordinate(k, entry), held)))
        s = k.fma(w, vector, s);
      return sum;
    });
    store(sums, y, output, held);
  }

  const SpmmOperands &o;
  KernelBuilder &k;
  const SpmmChoice &choice;
  int64_t pieces; ///< ranges of outputs
  const Walk &walk;
  Panels panels;
};

} // namespace

void smet::emitPanelsSpmm(const SpmmOperands &operands, const SpmmChoice &choice) {
  PanelsSpmm(operands, choice).emit();
}
