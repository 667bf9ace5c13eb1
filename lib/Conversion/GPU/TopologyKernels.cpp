//===- TopologyKernels.cpp - updates of a topology on the GPU -------------===//
#include "TopologyKernels.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace smet;

Val smet::lowerBound(GPUBuilder &k, int64_t longest, Val begin, Val end, function_ref<Val(Val)> isBelow) {
  Type index = k.b.getIndexType();
  Vals range{k.toIndex(begin), k.toIndex(end)};
  range = k.loop(0, k.index(llvm::Log2_64_Ceil(longest + 1)), 1, range, [&](Val, Vals range) -> Vals {
    auto halve = [&]() -> Vals {
      Val middle = (range[0] + range[1]) / k.index(2), below = isBelow(middle);
      return {k.select(below, middle + 1, range[0]), k.select(below, range[1], middle)};
    };
    return k.ifElse(k.compare(KernelBuilder::Compare::lt, range[0], range[1]), {index, index}, halve,
                    [&] { return range; });
  });
  return range[0];
}

namespace {

struct RoutineKernel : GPUKernel<RoutineOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(RoutineOp op, GPUBuilder &k) const final {
    using Emit = LogicalResult (*)(RoutineOp, GPUBuilder &);
    auto emit = llvm::StringSwitch<Emit>(op.getName())
                    .Case("prune", emitPrune)
                    .Case("grow_random", emitGrow)
                    .Case("update_topology", emitUpdate)
                    .Case("remap", emitRemap)
                    .Default(nullptr);
    return emit ? emit(op, k) : failure();
  }
};

} // namespace

void smet::populateTopologyGPUKernels(RewritePatternSet &patterns) {
  patterns.add<RoutineKernel>(patterns.getContext());
}
