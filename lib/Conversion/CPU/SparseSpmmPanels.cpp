//===- SparseSpmmPanels.cpp - SpMM for blocks of one weight ---------------===//
//
// One item of work is a few token vectors and a range of outputs. The inputs are taken in panels, whose x rows stay in
// cache while all outputs of the item use them: an output's sums are loaded, kept in registers over its entries in the
// panel, and stored. A load of x serves one FMA here, so that its distance bounds the speed.
//
// The transposed walk finds a weight through the slot permutation. They are copied in the order of the walk first,
// where they fit scratch of a quarter of the matrix; beyond that density they are gathered from where they are.
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
      : o(o), k(o.k), choice(choice), walk(o.byOutputs), panels(k, walk, o.x.features, choice.panel) {}

  void emit() {
    if (walk.perm)
      copyWeights();
    Val groups = o.x.tiles / choice.tiles;
    emitTiles(k.index(0), groups, choice.tiles);
    if (choice.tiles > 1)
      emitTiles(groups * choice.tiles, o.x.tiles % choice.tiles, 1);
  }

private:
  void copyWeights() {
    TopologyType type = o.type;
    int64_t capacity = std::max<int64_t>(type.getNumBlocks() / 4, 1);
    weights = k.workspace({capacity}, k.b.getF32Type()).get();
    Val nnz = k.size(o.values.get(), 0);
    copied = k.compare(KernelBuilder::Compare::le, nnz, capacity);
    parallelPieces(k, k.select(copied, nnz, k.index(0)), itemWeights, [&](Val begin, Val end) {
      k.loop(begin, end, 1,
             [&](Val entry) { k.store(k.load(o.values.get(), {walk.slot(k, entry)}), weights, {entry}); });
    });
  }

  /// Items over `count` groups of `held` token tiles from `first`.
  void emitTiles(Val first, Val count, int64_t held) {
    int64_t tokens = choice.columns * o.lanes, parts = o.x.width / tokens, perGroup = choice.pieces * parts;
    k.parallel(count * perGroup, [&](Val item) {
      Val tile = first + item / perGroup * held, piece = item % perGroup / parts, lane = item % parts * tokens;
      auto product = [&](function_ref<Val(Val)> weight) -> Vals {
        emitPiece(piece, held, tile * o.x.tileSize() + lane, tile * o.y.tileSize() + lane, weight);
        return {};
      };
      auto inPlace = [&] { return product([&](Val entry) { return o.weight(walk.slot(k, entry)); }); };
      auto fromCopy = [&] {
        return product([&](Val entry) { return k.broadcast(k.load(weights, {entry}), o.lanes); });
      };
      if (weights)
        k.ifElse(copied, {}, fromCopy, inPlace);
      else
        inPlace();
    });
  }

  void emitPiece(Val piece, int64_t held, Val xTile, Val yTile, function_ref<Val(Val)> weight) {
    auto pass = [&](Val panel, bool load) {
      k.loop(piece * walk.segments / choice.pieces, (piece + 1) * walk.segments / choice.pieces, 1, [&](Val output) {
        emitOutput(panels.begin(output, panel), panels.end(output, panel), held, load, xTile,
                   yTile + output * o.y.width, weight);
      });
    };
    pass(k.index(0), o.accumulate);
    k.loop(1, panels.count(), 1, [&](Val panel) { pass(panel, true); });
  }

  void emitOutput(Val begin, Val end, int64_t held, bool load, Val xTile, Val yRow, function_ref<Val(Val)> weight) {
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
  Value weights; ///< in the order of the walk, if copied
  Val copied;    ///< whether they fit
};

} // namespace

void smet::emitPanelsSpmm(const SpmmOperands &operands, const SpmmChoice &choice) {
  PanelsSpmm(operands, choice).emit();
}
