//===- SparseSpmmScatter.cpp - SpMM for blocks with one output ------------===//
//
// Blocks of one output and several inputs (1 x C; transposed: R x 1). One item of work is a token tile and a panel of
// outputs, which stay in cache. The matrix is walked by its inputs: their vectors stay in registers while all outputs
// of the panel that use them are updated, a few at a time. Every weight is broadcast once for all vectors. Outputs
// stored in bf16 are summed in a panel of f32 on the stack.
//
//===----------------------------------------------------------------------===//
#include "SparseSpmm.h"

using namespace mlir;
using namespace smet;

namespace {

class ScatterSpmm {
public:
  ScatterSpmm(const SpmmOperands &o, const SpmmChoice &choice)
      : o(o), k(o.k), choice(choice), panels(k, o.byInputs, o.y.features, choice.panel) {}

  void emit() {
    int64_t tokens = choice.columns * o.lanes, parts = o.x.width / tokens;
    Val perTile = panels.count() * parts;
    k.parallel(o.x.tiles * perTile, [&](Val item) {
      Val tile = item / perTile, panel = item % perTile / parts, lane = item % parts * tokens;
      Val first = panel * choice.panel, last = k.min(first + choice.panel, k.index(o.y.features));
      Val yTile = tile * o.y.tileSize() + lane;
      xTile = tile * o.x.tileSize() + lane;
      sums = o.y.flat;
      sumsOffset = yTile;
      sumsWidth = o.y.width;
      if (o.y.isBF16()) {
        sums = k.stack({std::min(choice.panel, o.y.features) * tokens}, k.b.getF32Type());
        sumsOffset = Val(0) - first * tokens;
        sumsWidth = tokens;
      }
      start(first, last, yTile);
      k.loop(0, o.byInputs.segments, 1, [&](Val segment) { addSegment(segment, panel); });
      if (o.y.isBF16())
        forOutputs(first, last, [&](Val sum, Val y) { o.store(load(sum), o.y.flat, yTile + y); });
    });
  }

private:
  /// The sums of an output.
  Vals load(Val place) { return o.load(sums, place, choice.columns); }
  void store(ArrayRef<Val> values, Val place) { o.store(values, sums, place); }

  /// body(place of the sums, offset in the tile of y) for the outputs [first, last).
  void forOutputs(Val first, Val last, function_ref<void(Val, Val)> body) {
    k.loop(first, last, 1, [&](Val output) { body(place(output), output * o.y.width); });
  }
  Val place(Val output) { return sumsOffset + output * sumsWidth; }

  /// Sums start at zero, or at y.
  void start(Val first, Val last, Val yTile) {
    if (!o.accumulate)
      forOutputs(first, last, [&](Val sum, Val) { store(Vals(choice.columns, o.zero()), sum); });
    else if (o.y.isBF16())
      forOutputs(first, last, [&](Val sum, Val y) { store(o.load(o.y.flat, yTile + y, choice.columns), sum); });
  }

  void addSegment(Val segment, Val panel) {
    Val begin = panels.begin(segment, panel), end = panels.end(segment, panel);
    Val full = begin + (end - begin) / choice.rows * choice.rows;
    forPieces(k, o.inner, choice.features, [&](Val feature, int64_t features) {
      Val xOffset = xTile + (segment * o.inner + feature) * o.x.width;
      Vals xs;
      for (int64_t j = 0; j < features; ++j)
        xs.append(o.load(o.x.flat, xOffset + j * o.x.width, choice.columns));
      k.loop(begin, full, choice.rows, [&](Val entry) { addOutputs(entry, choice.rows, feature, features, xs); });
      k.loop(full, end, 1, [&](Val entry) { addOutputs(entry, 1, feature, features, xs); });
    });
  }

  /// The outputs of `rows` entries += their weights from `feature` on times xs.
  void addOutputs(Val entry, int64_t rows, Val feature, int64_t features, const Vals &xs) {
    Vals weights, places, acc;
    for (int64_t r = 0; r < rows; ++r) {
      weights.push_back(o.byInputs.slot(k, entry + r) * o.inner + feature);
      places.push_back(place(o.byInputs.coordinate(k, entry + r)));
      acc.append(load(places[r]));
    }
    for (int64_t j = 0; j < features; ++j)
      for (int64_t r = 0; r < rows; ++r) {
        Val weight = o.weight(weights[r] + j);
        for (int64_t n = 0; n < choice.columns; ++n) {
          Val &sum = acc[r * choice.columns + n];
          sum = k.fma(weight, xs[j * choice.columns + n], sum);
        }
      }
    for (int64_t r = 0; r < rows; ++r)
      store(ArrayRef(acc).slice(r * choice.columns, choice.columns), places[r]);
  }

  const SpmmOperands &o;
  KernelBuilder &k;
  const SpmmChoice &choice;
  Panels panels;
  Val xTile; ///< of the item, at its first lane
  Val sums;  ///< flat: y, or a panel of f32
  Val sumsOffset;
  int64_t sumsWidth = 0; ///< between outputs
};

} // namespace

void smet::emitScatterSpmm(const SpmmOperands &operands, const SpmmChoice &choice) {
  ScatterSpmm(operands, choice).emit();
}
