//===- SparseSpmmPanels.cpp - SpMM for blocks of one weight ---------------===//
//
// One item of work is a few token vectors and a range of outputs. The inputs are taken in panels, whose x rows stay in
// cache while all outputs of the item use them: an output's sums are loaded, kept in registers over its entries in the
// panel, and stored. A load of x serves one FMA here, so that its distance bounds the speed.
//
// The transposed walk finds a weight through the slot permutation, far from the one before. So the weights are first
// copied in the order of the walk, for as many outputs at a time as fit bounded scratch.
//
//===----------------------------------------------------------------------===//
#include "SparseSpmm.h"

using namespace mlir;
using namespace smet;

namespace {

/// Weights that an item of work copies.
constexpr int64_t itemWeights = 4096;

class PanelsSpmm {
public:
  PanelsSpmm(const SpmmOperands &o, const SpmmChoice &choice)
      : o(o), k(o.k), choice(choice), walk(o.byOutputs),
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
          fits, {},
          [&]() -> Vals {
            body([&](Val entry) { return k.broadcast(k.load(copy, {entry - begin}), o.lanes); });
            return {};
          },
          [&]() -> Vals {
            body([&](Val entry) { return o.weight(walk.slot(k, entry)); });
            return {};
          });
    });
  }

  /// withWeights(body) emits body for each way to find a weight.
  void emitOutputs(Val first, Val last, function_ref<void(function_ref<void(Weight)>)> withWeights) {
    int64_t tokens = choice.columns * o.lanes, parts = o.x.width / tokens, perGroup = choice.pieces * parts;
    auto items = [&](Val firstTile, Val count, int64_t held) {
      k.parallel(count * perGroup, [&](Val item) {
        Val tile = firstTile + item / perGroup * held, piece = item % perGroup / parts, lane = item % parts * tokens;
        Val outputs = last - first, begin = first + piece * outputs / choice.pieces,
            end = first + (piece + 1) * outputs / choice.pieces;
        Val xTile = tile * o.x.tileSize() + lane, yTile = tile * o.y.tileSize() + lane;
        withWeights([&](Weight weight) { emitPiece(begin, end, held, xTile, yTile, weight); });
      });
    };
    Val groups = o.x.tiles / choice.tiles;
    items(k.index(0), groups, choice.tiles);
    if (choice.tiles > 1)
      items(groups * choice.tiles, o.x.tiles % choice.tiles, 1);
  }

  void emitPiece(Val begin, Val end, int64_t held, Val xTile, Val yTile, Weight weight) {
    auto pass = [&](Val panel, bool load) {
      k.loop(begin, end, 1, [&](Val output) {
        emitOutput(panels.begin(output, panel), panels.end(output, panel), held, load, xTile,
                   yTile + output * o.y.width, weight);
      });
    };
    pass(k.index(0), o.accumulate);
    k.loop(1, panels.count(), 1, [&](Val panel) { pass(panel, true); });
  }

  void emitOutput(Val begin, Val end, int64_t held, bool load, Val xTile, Val yRow, Weight weight) {
    auto places = [&](const Tokens &tokens, Val row) {
      Vals offsets;
      for (int64_t t = 0; t < held; ++t)
        for (int64_t n = 0; n < choice.columns; ++n)
          offsets.push_back(row + (t * tokens.tileSize() + n * o.lanes));
      return offsets;
    };
    Vals sums, yPlaces = places(o.y, yRow);
    for (Val place : yPlaces)
      sums.push_back(load ? o.load(o.y, place) : o.zero());
    sums = k.loop(begin, end, 1, sums, [&](Val entry, Vals sum) {
      Val w = weight(entry);
      for (auto [s, place] : llvm::zip_equal(sum, places(o.x, xTile + walk.coordinate(k, entry) * o.x.width)))
        s = k.fma(w, o.load(o.x, place), s);
      return sum;
    });
    for (auto [sum, place] : llvm::zip_equal(sums, yPlaces))
      o.store(sum, o.y, place);
  }

  const SpmmOperands &o;
  KernelBuilder &k;
  const SpmmChoice &choice;
  const Walk &walk;
  Panels panels;
};

} // namespace

void smet::emitPanelsSpmm(const SpmmOperands &operands, const SpmmChoice &choice) {
  PanelsSpmm(operands, choice).emit();
}
