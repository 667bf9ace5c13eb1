//===- SparseSddmmDense.cpp - sampled products that are hardly sampled ----===//
#include "SparseSddmmDense.h"

using namespace mlir;
using namespace smet;

/// Panels of columns of an item of work, which share what is loaded of dy.
static constexpr int64_t itemPanels = 4;

DenseSddmm::DenseSddmm(KernelBuilder &k, const CPUTarget &target, const Walk &walk, const Tiles &x, const Tiles &dy)
    : k(k), walk(walk), x(x), dy(dy), chunk(std::clamp<int64_t>(1024 / x.lanes, 1, x.tiles)),
      panels(k, walk, x.features, panelColumns), transposed(k, target, x, chunk), product(k, target, panelColumns) {
  if (!isF32(dy.memref))
    dyCopy = k.workspace({chunk, dy.features, dy.lanes}, k.b.getF32Type()).get();
}

void DenseSddmm::add(Val begin, Val end, Val firstRow, Val lastRow, const Gradients &gradients) const {
  Val parts = (panels.count() + (itemPanels - 1)) / itemPanels;
  Val groups = (lastRow - firstRow + (panelRows - 1)) / panelRows;
  k.loop(0, x.tiles, chunk, [&](Val tile) {
    Val lastTile = k.min(tile + chunk, k.index(x.tiles));
    transposed.fill(tile, lastTile);
    if (dyCopy)
      k.parallel(lastTile - tile, [&](Val i) {
        k.loop(0, dy.features, 1, [&](Val f) { k.storeVector(dy.load(k, tile + i, f), dyCopy, {i, f, 0}); });
      });
    k.parallel(groups * parts, [&](Val item) {
      Value scratch = k.stack({panelRows, panelColumns}, k.b.getF32Type()).get();
      Val row = firstRow + item / parts * panelRows, rows = k.min(lastRow - row, k.index(panelRows));
      Val first = item % parts * itemPanels, last = k.min(first + itemPanels, panels.count());
      k.loop(first, last, 1, [&](Val panel) {
        addPanel(panel, row, rows, tile, lastTile, scratch);
        pick(panel, row, rows, begin, end, scratch, gradients);
      });
    });
  });
}

/// scratch = dyᵀ x over the tiles, for `rows` rows from `row` on and the columns of a panel. Rows that fill the last
/// group repeat the matrix's last one, columns beyond the matrix hold anything: neither is picked.
void DenseSddmm::addPanel(Val panel, Val row, Val rows, Val firstTile, Val lastTile, Value scratch) const {
  int64_t pass = std::max<int64_t>(productDepth / x.lanes, 1);
  Val last = k.index(dy.features - 1);
  k.loop(firstTile, lastTile, pass, [&](Val tile) {
    Val adds = k.compare(KernelBuilder::Compare::gt, tile, firstTile);
    product.emitGroups(
        rows, {tile, k.min(tile + pass, lastTile), x.lanes},
        [&](Val r, Val i, Val d) {
          Val feature = k.min(row + r, last);
          return dyCopy ? k.load(dyCopy, {i - firstTile, feature, d}) : k.load(dy.memref, {i, feature, d});
        },
        [&](Val i, Val d, Val lane) {
          return transposed.load(panel, (i - firstTile) * x.lanes + d, lane, product.piece);
        },
        [&](Val r, Val lane, Vals sums) { product.store(adds, sums, {scratch}, r, lane); });
  });
}

void DenseSddmm::pick(Val panel, Val row, Val rows, Val begin, Val end, Value scratch,
                      const Gradients &gradients) const {
  k.loop(0, rows, 1, [&](Val r) {
    Val first = k.max(panels.begin(row + r, panel), begin), last = k.min(panels.end(row + r, panel), end);
    k.loop(first, k.max(first, last), 1, [&](Val entry) {
      Val sum = k.load(scratch, {r, walk.coordinate(k, entry) - panel * panelColumns}), place = gradients.place(entry);
      k.store(k.load(gradients.flat, {place}) + sum, gradients.flat, {place});
    });
  });
}
