//===- LinearKernels.cpp - dense linear layers ----------------------------===//
#include "DenseProduct.h"

#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

namespace {

// y = w x
struct LinearKernel : GPUKernel<nn::LinearOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::LinearOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX()), y = Activation::of(op.getY());
    if (!x || !y || !isF32OrBF16(op.getW()))
      return failure();
    denseProduct(k, {DenseMatrix::of(op.getW()), /*alongRows=*/true}, {DenseMatrix::of(x), /*alongRows=*/false},
                 DenseMatrix::of(y));
    return success();
  }
};

// dx = wᵀ dy
struct LinearGradInputKernel : GPUKernel<nn::LinearGradInputOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::LinearGradInputOp op, GPUBuilder &k) const final {
    Activation dy = Activation::of(op.getDy()), dx = Activation::of(op.getDx());
    if (!dy || !dx || !isF32OrBF16(op.getW()))
      return failure();
    denseProduct(k, {DenseMatrix::of(op.getW()), /*alongRows=*/false}, {DenseMatrix::of(dy), /*alongRows=*/false},
                 DenseMatrix::of(dx));
    return success();
  }
};

// dw = dy xᵀ
struct LinearGradWeightKernel : GPUKernel<nn::LinearGradWeightOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::LinearGradWeightOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX()), dy = Activation::of(op.getDy());
    if (!x || !dy || !isF32OrBF16(op.getDw()))
      return failure();
    denseProduct(k, {DenseMatrix::of(dy), /*alongRows=*/true}, {DenseMatrix::of(x), /*alongRows=*/true},
                 DenseMatrix::of(op.getDw()));
    return success();
  }
};

} // namespace

void smet::populateLinearGPUKernels(RewritePatternSet &patterns) {
  patterns.add<LinearKernel, LinearGradInputKernel, LinearGradWeightKernel>(patterns.getContext());
}
