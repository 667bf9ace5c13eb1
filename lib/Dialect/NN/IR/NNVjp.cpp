//===- NNVjp.cpp - vector-Jacobian products of the nn ops -----------------===//
//
// Each emits the op of its gradient; the formulas stand at those ops. Nothing is saved but inputs, results and, for
// attention and the loss, the log-sum-exp.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;
using namespace smet::nn;

void EmbeddingOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                           SmallVectorImpl<Value> &inputGrads) {
  if (needed[0])
    inputGrads[0] = createWithEmptyInits<EmbeddingGradOp>(b, getLoc(), getTable().getType(), {resultGrads[0], getIds()})
                        ->getResult(0);
}

void RMSNormOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                         SmallVectorImpl<Value> &inputGrads) {
  auto grad =
      createWithEmptyInits<RMSNormGradOp>(b, getLoc(), {getX().getType(), getGamma().getType()},
                                          {getX(), getGamma(), resultGrads[0]}, b.getNamedAttr("eps", getEpsAttr()));
  inputGrads[0] = grad->getResult(0);
  inputGrads[1] = grad->getResult(1);
}

void RopeOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                      SmallVectorImpl<Value> &inputGrads) {
  auto grad = createWithEmptyInits<RopeOp>(b, getLoc(), getX().getType(), resultGrads[0], (*this)->getAttrs());
  grad.setInverse(!getInverse());
  inputGrads[0] = grad->getResult(0);
}

void SiluMulOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                         SmallVectorImpl<Value> &inputGrads) {
  auto grad = createWithEmptyInits<SiluMulGradOp>(b, getLoc(), {getGate().getType(), getUp().getType()},
                                                  {getGate(), getUp(), resultGrads[0]});
  inputGrads[0] = grad->getResult(0);
  inputGrads[1] = grad->getResult(1);
}

void AddOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                     SmallVectorImpl<Value> &inputGrads) {
  inputGrads[0] = inputGrads[1] = resultGrads[0];
}

void AttentionOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                           SmallVectorImpl<Value> &inputGrads) {
  auto grad = createWithEmptyInits<AttentionGradOp>(
      b, getLoc(), {getQ().getType(), getK().getType(), getV().getType()},
      {getQ(), getK(), getV(), (*this)->getResult(0), (*this)->getResult(1), resultGrads[0]}, (*this)->getAttrs());
  llvm::copy(grad->getResults(), inputGrads.begin());
}

void LinearOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                        SmallVectorImpl<Value> &inputGrads) {
  Value dy = resultGrads[0];
  if (needed[0])
    inputGrads[0] = createWithEmptyInits<LinearGradInputOp>(b, getLoc(), getX().getType(), {dy, getW()})->getResult(0);
  if (needed[1])
    inputGrads[1] = createWithEmptyInits<LinearGradWeightOp>(b, getLoc(), getW().getType(), {getX(), dy})->getResult(0);
}

void LinearCrossEntropyOp::buildVjp(OpBuilder &b, ValueRange resultGrads, const BitVector &needed,
                                    SmallVectorImpl<Value> &inputGrads) {
  auto grad = createWithEmptyInits<LinearCrossEntropyGradOp>(
      b, getLoc(), {getX().getType(), getW().getType()},
      {getX(), getW(), getTargets(), getNumValid(), (*this)->getResult(1), resultGrads[0]});
  inputGrads[0] = grad->getResult(0);
  inputGrads[1] = grad->getResult(1);
}
