//===- TopologyKernels.h - updates of a topology on the GPU -----*- C++ -*-===//
//
// What runtime/cpu/Topology.cpp computes, to the bit; runtime/program/Abi.h has the operands. Launches are as large as
// the shapes say; counts stay on the device.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_GPU_TOPOLOGYKERNELS_H
#define SMET_LIB_CONVERSION_GPU_TOPOLOGYKERNELS_H

#include "Pieces.h"

#include "smet/Dialect/Smet/IR/Smet.h"

namespace smet {

/// The first i of [begin, end), at most `longest` numbers, that is not below what is looked for; `isBelow` ascends from
/// true to false.
Val lowerBound(GPUBuilder &k, int64_t longest, Val begin, Val end, llvm::function_ref<Val(Val)> isBelow);

mlir::LogicalResult emitPrune(RoutineOp op, GPUBuilder &k);
mlir::LogicalResult emitGrow(RoutineOp op, GPUBuilder &k);
mlir::LogicalResult emitUpdate(RoutineOp op, GPUBuilder &k);
mlir::LogicalResult emitRemap(RoutineOp op, GPUBuilder &k);

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_TOPOLOGYKERNELS_H
