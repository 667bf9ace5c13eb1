//===- SparseKernelsSpmm.cpp - SpMM on packed token tiles -----------------===//
#include "SparseKernelAttr.h"
#include "SparseSpmm.h"

using namespace mlir;
using namespace smet;

SpmmOperands::SpmmOperands(SpmmOp op, KernelBuilder &k, const CPUTarget &target, const TopologyArrays &arrays)
    : k(k), type(op.getTopology().getType()), transpose(op.getTranspose()), accumulate(op.getAccumulate()),
      byOutputs(transpose ? columnWalk(type, arrays) : rowWalk(type, arrays)),
      byInputs(transpose ? rowWalk(type, arrays) : columnWalk(type, arrays)), x(k, op.getX()), y(k, op.getY()),
      values(k.flatten(op.getValues())), outer(transpose ? type.getBlockCols() : type.getBlockRows()),
      inner(transpose ? type.getBlockRows() : type.getBlockCols()), lanes(lanesFor(target, x.width)),
      vectors(x.width / lanes), copiesTiles(smet::copiesTiles(*problemOf(op, /*tile=*/0))) {}

namespace {

struct SpmmKernel : CPUKernel<SpmmOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(SpmmOp op, KernelBuilder &k) const final {
    auto arrays = topologyArrays(op.getTopology());
    if (failed(arrays) || !isF32OrBF16(op.getValues()) || !isPacked(op.getX()) || !isPacked(op.getY()))
      return failure();
    SpmmOperands operands(op, k, target, *arrays);
    SpmmChoice choice = spmmChoice(op, target);
    switch (choice.kernel) {
    case SpmmChoice::Kernel::Tiles:
      emitTilesSpmm(operands, choice);
      break;
    case SpmmChoice::Kernel::Scatter:
      emitScatterSpmm(operands, choice);
      break;
    case SpmmChoice::Kernel::Panels:
      emitPanelsSpmm(operands, choice);
      break;
    }
    return success();
  }
};

} // namespace

void smet::populateSpmmKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<SpmmKernel>(patterns.getContext(), target);
}
