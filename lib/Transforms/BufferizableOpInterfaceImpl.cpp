//===- BufferizableOpInterfaceImpl.cpp - how smet and nn ops bufferize ----===//
#include "smet/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace smet;

namespace {

/// Replaces tensor operands by their buffers.
FailureOr<SmallVector<Value>> getBuffers(RewriterBase &rewriter, Operation *op, const BufferizationOptions &options,
                                         BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    if (isa<TensorType>(operand.getType())) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operand = *buffer;
    }
    buffers.push_back(operand);
  }
  return buffers;
}

/// The same op on other operands and with other results.
Operation *cloneOnBuffers(RewriterBase &rewriter, Operation *op, ValueRange operands, TypeRange results) {
  OperationState clone(op->getLoc(), op->getName(), operands, results, op->getDiscardableAttrDictionary().getValue());
  clone.propertiesAttr = op->getPropertiesAsAttribute();
  return rewriter.create(clone);
}

/// Destination style: results are the buffers of the inits, which count as read and written (many are updated).
template <typename OpT>
struct DestinationStyleModel : DstBufferizableOpInterfaceExternalModel<DestinationStyleModel<OpT>, OpT> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return true; }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto buffers = getBuffers(rewriter, op, options, state);
    if (failed(buffers))
      return failure();
    auto inits = cast<DestinationStyleOpInterface>(op).getDpsInitsMutable();
    SmallVector<Value> results(ArrayRef(*buffers).take_back(inits.size()));
    cloneOnBuffers(rewriter, op, *buffers, TypeRange{});
    replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }
};

/// Ops that only read their operands and have no tensor results.
template <typename OpT> struct ReadOnlyModel : BufferizableOpInterface::ExternalModel<ReadOnlyModel<OpT>, OpT> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return true; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const { return {}; }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto buffers = getBuffers(rewriter, op, options, state);
    if (failed(buffers))
      return failure();
    rewriter.replaceOp(op, cloneOnBuffers(rewriter, op, *buffers, op->getResultTypes()));
    return success();
  }
};

template <typename OpT> void attachIfKernel(MLIRContext *context) {
  if constexpr (OpT::template hasTrait<DestinationStyleOpInterface::Trait>())
    OpT::template attachInterface<DestinationStyleModel<OpT>>(*context);
}
template <typename... Ops> void attachToKernels(MLIRContext *context) { (attachIfKernel<Ops>(context), ...); }

} // namespace

void smet::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SmetDialect *) {
    attachToKernels<
#define GET_OP_LIST
#include "smet/Dialect/Smet/IR/SmetOps.cpp.inc"
        >(context);
    CheckFiniteOp::attachInterface<ReadOnlyModel<CheckFiniteOp>>(*context);
    TopologyPackOp::attachInterface<ReadOnlyModel<TopologyPackOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, nn::NNDialect *) {
    attachToKernels<
#define GET_OP_LIST
#include "smet/Dialect/NN/IR/NNOps.cpp.inc"
        >(context);
  });
}
