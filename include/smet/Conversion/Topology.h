//===- Topology.h - topologies as kernels read them -------------*- C++ -*-===//
//
// Kernels of the smet dialect read the topology's arrays directly. The reference target takes the same arrays through
// sparse_tensor.assemble and positions / coordinates / values, which fold to these loads.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_CONVERSION_TOPOLOGY_H
#define SMET_CONVERSION_TOPOLOGY_H

#include "smet/Conversion/KernelBuilder.h"
#include "smet/Dialect/Smet/IR/Smet.h"

namespace smet {

/// The arrays of a topology operand, from its smet.topology.pack on memrefs.
struct TopologyArrays {
  mlir::Value positions, coordinates, tPositions, tCoordinates, tPerm;
};
mlir::FailureOr<TopologyArrays> topologyArrays(mlir::Value topology);

/// A block CSR walked by segments (row blocks; column blocks when transposed). An entry of the walk is a slot, or
/// stands for slot perm[entry].
struct Walk {
  mlir::Value positions, coordinates, perm;
  int64_t segments;

  Val slot(KernelBuilder &k, Val entry) const { return perm ? k.toIndex(k.load(perm, {entry})) : entry; }
  Val coordinate(KernelBuilder &k, Val entry) const { return k.toIndex(k.load(coordinates, {entry})); }
  Val begin(KernelBuilder &k, Val segment) const { return k.toIndex(k.load(positions, {segment})); }
  Val end(KernelBuilder &k, Val segment) const { return begin(k, segment + 1); }
  /// The segment that an entry belongs to, by bisection: the last one that does not begin behind it.
  Val segmentOf(KernelBuilder &k, Val entry) const;
};
Walk rowWalk(TopologyType type, const TopologyArrays &arrays);
Walk columnWalk(TopologyType type, const TopologyArrays &arrays);

} // namespace smet

#endif // SMET_CONVERSION_TOPOLOGY_H
