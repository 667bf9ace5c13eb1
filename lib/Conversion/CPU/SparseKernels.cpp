//===- SparseKernels.cpp - what the sparse CPU kernels share --------------===//
#include "SparseKernels.h"

using namespace mlir;
using namespace smet;

Val smet::isDense(KernelBuilder &k, TopologyType type, Val nnz) {
  return k.compare(KernelBuilder::Compare::gt, nnz * 3, type.getNumBlocks());
}

/// Segments whose panels an item of work finds.
static constexpr int64_t itemSegments = 32;

Panels::Panels(KernelBuilder &k, const Walk &walk, int64_t coordinates, int64_t size, Val panelUnits)
    : k(k), walk(walk), size(size), total(llvm::divideCeil(coordinates, size)), units(k.toIndex(panelUnits)) {
  Type i32 = k.b.getI32Type();
  positions = k.workspace({(total + 1) * walk.segments}, i32).get();
  auto set = [&](Val unit, Val segment, Val entry) {
    k.store(k.fromIndex(entry, i32), positions, {unit * walk.segments + segment});
  };
  parallelPieces(k, k.index(walk.segments), itemSegments, [&](Val first, Val last) {
    k.loop(first, last, 1, [&](Val segment) {
      Val begin = walk.begin(k, segment);
      k.loop(0, total + 1, 1, [&](Val unit) { set(unit, segment, begin); });
      // Coordinates ascend: the last entry of a unit stays; units without entries end where the one before does.
      k.loop(begin, walk.end(k, segment), 1,
             [&](Val entry) { set(walk.coordinate(k, entry) / size + 1, segment, entry + 1); });
      k.loop(1, total + 1, 1, {begin}, [&](Val unit, Vals end) -> Vals {
        Val furthest = k.max(end[0], position(segment, unit));
        set(unit, segment, furthest);
        return {furthest};
      });
    });
  });
}

Tokens::Tokens(KernelBuilder &k, Value memref)
    : flat(k.flatten(memref)), tiles(k.size(memref, 0)), features(cast<MemRefType>(memref.getType()).getDimSize(1)),
      width(cast<MemRefType>(memref.getType()).getDimSize(2)) {}

bool Tokens::isBF16() const { return cast<MemRefType>(flat.type()).getElementType().isBF16(); }

static bool isPaired(Val flat, bool pairs) { return pairs && cast<MemRefType>(flat.type()).getElementType().isBF16(); }

Vals smet::loadVectors(KernelBuilder &k, Val flat, Val offset, int64_t count, int64_t lanes, bool pairs) {
  Vals vectors;
  for (int64_t n = 0; n < count; ++n)
    if (isPaired(flat, pairs)) {
      auto [even, odd] = k.loadPair(flat.get(), {offset + n++ * lanes}, lanes);
      vectors.append({even, odd});
    } else {
      vectors.push_back(k.loadVector(flat.get(), {offset + n * lanes}, lanes));
    }
  return vectors;
}

void smet::storeVectors(KernelBuilder &k, ArrayRef<Val> vectors, Val flat, Val offset, bool pairs) {
  int64_t lanes = cast<VectorType>(vectors.front().type()).getNumElements();
  for (int64_t n = 0, count = vectors.size(); n < count; ++n)
    if (isPaired(flat, pairs)) {
      k.storePair(vectors[n], vectors[n + 1], flat.get(), {offset + n * lanes});
      ++n;
    } else {
      k.storeVector(vectors[n], flat.get(), {offset + n * lanes});
    }
}

bool smet::isPacked(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return isF32OrBF16(value) && type.getRank() == 3 && type.getNumElements();
}

void smet::forPieces(KernelBuilder &k, int64_t n, int64_t step, function_ref<void(Val, int64_t)> body) {
  int64_t full = n / step * step;
  if (full)
    k.loop(0, full, step, [&](Val begin) { body(begin, step); });
  if (full < n)
    body(k.index(full), n - full);
}

void smet::populateSparseCPUKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  populateSpmmKernels(patterns, target);
  populateSddmmKernels(patterns, target);
  populateAdamKernels(patterns, target);
  populateSlotKernels(patterns, target);
}
