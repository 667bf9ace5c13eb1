//===- SparseKernels.cpp - what the sparse CPU kernels share --------------===//
#include "SparseKernels.h"

#include <numeric>

using namespace mlir;
using namespace smet;

FailureOr<TopologyArrays> smet::topologyArrays(Value topology) {
  auto pack = topology.getDefiningOp<TopologyPackOp>();
  if (!pack || pack.getArrays().size() != TopologyType::numArrays)
    return failure();
  auto arrays = pack.getArrays();
  if (!llvm::all_of(arrays, [](Value array) { return isa<MemRefType>(array.getType()); }))
    return failure();
  return TopologyArrays{arrays[0], arrays[1], arrays[2], arrays[3], arrays[4]};
}

Walk smet::rowWalk(TopologyType type, const TopologyArrays &arrays) {
  return {arrays.positions, arrays.coordinates, Value(), type.getRowBlocks()};
}

Walk smet::columnWalk(TopologyType type, const TopologyArrays &arrays) {
  return {arrays.tPositions, arrays.tCoordinates, arrays.tPerm, type.getColBlocks()};
}

Tokens::Tokens(KernelBuilder &k, Value memref)
    : flat(k.flatten(memref)), tiles(k.size(memref, 0)), features(cast<MemRefType>(memref.getType()).getDimSize(1)),
      width(cast<MemRefType>(memref.getType()).getDimSize(2)) {}

bool smet::isF32(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && type.getElementType().isF32() && type.getLayout().isIdentity();
}

bool smet::isPackedF32(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return isF32(value) && type.getRank() == 3 && type.getNumElements();
}

int64_t smet::lanesFor(const CPUTarget &target, int64_t width) { return std::gcd(target.vectorBits / 32, width); }

void smet::forPieces(KernelBuilder &k, int64_t n, int64_t step, function_ref<void(Val, int64_t)> body) {
  int64_t full = n / step * step;
  if (full)
    k.loop(0, full, step, [&](Val begin) { body(begin, step); });
  if (full < n)
    body(k.index(full), n - full);
}

void smet::vectorLoop(KernelBuilder &k, Val begin, Val end, int64_t lanes, function_ref<void(Val)> body,
                      function_ref<void(Val)> rest) {
  Val full = begin + (end - begin) / lanes * lanes;
  k.loop(begin, full, lanes, body);
  k.loop(full, end, 1, rest);
}

void smet::populateSparseCPUKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  populateSpmmKernels(patterns, target);
  populateSddmmKernels(patterns, target);
  populateAdamKernels(patterns, target);
  populateSlotKernels(patterns, target);
}
