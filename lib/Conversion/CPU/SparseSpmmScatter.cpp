//===- SparseSpmmScatter.cpp - SpMM for blocks with one output ------------===//
//
// Blocks of one output and several inputs (1 x C; transposed: R x 1). One item of work is a token tile and a panel of
// outputs, which stay in cache. The matrix is walked by its inputs: their vectors stay in registers while all outputs
// of the panel that use them are updated, a few at a time. Every weight is broadcast once for all vectors.
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
      xTile = tile * o.x.tileSize() + lane;
      yTile = tile * o.y.tileSize() + lane;
      if (!o.accumulate)
        clear(panel);
      k.loop(0, o.byInputs.segments, 1, [&](Val segment) { addSegment(segment, panel); });
    });
  }

private:
  void clear(Val panel) {
    Val first = panel * choice.panel, last = k.min(first + choice.panel, k.index(o.y.features));
    k.loop(first, last, 1, [&](Val output) {
      for (int64_t n = 0; n < choice.columns; ++n)
        o.store(o.zero(), o.y, yTile + output * o.y.width + n * o.lanes);
    });
  }

  void addSegment(Val segment, Val panel) {
    Val begin = panels.begin(segment, panel), end = panels.end(segment, panel);
    Val full = begin + (end - begin) / choice.rows * choice.rows;
    forPieces(k, o.inner, choice.features, [&](Val feature, int64_t features) {
      Val xOffset = xTile + (segment * o.inner + feature) * o.x.width;
      Vals xs;
      for (int64_t j = 0; j < features; ++j)
        for (int64_t n = 0; n < choice.columns; ++n)
          xs.push_back(o.load(o.x, xOffset + (j * o.x.width + n * o.lanes)));
      k.loop(begin, full, choice.rows, [&](Val entry) { addOutputs(entry, choice.rows, feature, features, xs); });
      k.loop(full, end, 1, [&](Val entry) { addOutputs(entry, 1, feature, features, xs); });
    });
  }

  /// The outputs of `rows` entries += their weights from `feature` on times xs.
  void addOutputs(Val entry, int64_t rows, Val feature, int64_t features, const Vals &xs) {
    Vals weights, places, sums;
    for (int64_t r = 0; r < rows; ++r) {
      weights.push_back(o.byInputs.slot(k, entry + r) * o.inner + feature);
      places.push_back(yTile + o.byInputs.coordinate(k, entry + r) * o.y.width);
      for (int64_t n = 0; n < choice.columns; ++n)
        sums.push_back(o.load(o.y, places[r] + n * o.lanes));
    }
    for (int64_t j = 0; j < features; ++j)
      for (int64_t r = 0; r < rows; ++r) {
        Val weight = o.weight(weights[r] + j);
        for (int64_t n = 0; n < choice.columns; ++n) {
          Val &sum = sums[r * choice.columns + n];
          sum = k.fma(weight, xs[j * choice.columns + n], sum);
        }
      }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t n = 0; n < choice.columns; ++n)
        o.store(sums[r * choice.columns + n], o.y, places[r] + n * o.lanes);
  }

  const SpmmOperands &o;
  KernelBuilder &k;
  const SpmmChoice &choice;
  Panels panels;
  Val xTile, yTile; ///< of the item, at its first lane
};

} // namespace

void smet::emitScatterSpmm(const SpmmOperands &operands, const SpmmChoice &choice) {
  ScatterSpmm(operands, choice).emit();
}
