//===- Topology.cpp - topologies as kernels read them ---------------------===//
#include "smet/Conversion/Topology.h"

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

Val Walk::segmentOf(KernelBuilder &k, Val entry) const {
  Vals range{k.index(0), k.index(segments)};
  range = k.loop(0, k.index(llvm::Log2_64_Ceil(segments + 1)), 1, range, [&](Val, Vals range) -> Vals {
    Val middle = (range[0] + range[1]) / k.index(2);
    Val isBehind = k.compare(KernelBuilder::Compare::gt, begin(k, middle), entry);
    return {k.select(isBehind, range[0], middle), k.select(isBehind, middle, range[1])};
  });
  return range[0];
}
