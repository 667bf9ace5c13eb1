//===- LayoutKernels.cpp - pack, unpack, select_token ---------------------===//
#include "Turn.h"

#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

namespace {

/// A memref [T, F] of f32 or bf16.
struct TokenMajor {
  Value memref;
  int64_t tokens = 0, features = 0;

  static TokenMajor of(Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!isF32OrBF16(value) || type.getRank() != 2 || !type.hasStaticShape() || !type.getNumElements())
      return {};
    return {value, type.getDimSize(0), type.getDimSize(1)};
  }
};

struct PackKernel : GPUKernel<nn::PackOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::PackOp op, GPUBuilder &k) const final {
    Activation y = Activation::of(op.getY());
    TokenMajor x = TokenMajor::of(op.getX());
    if (!y || !x.memref)
      return failure();
    turnInto(k, y, x.tokens, [&](Val token, Val f) { return k.load(x.memref, {token, f}); });
    return success();
  }
};

struct UnpackKernel : GPUKernel<nn::UnpackOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::UnpackOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX());
    TokenMajor y = TokenMajor::of(op.getY());
    if (!x || !y.memref)
      return failure();
    turn(
        k, y.tokens, y.features,
        [&](Val f, Val token) {
          return k.load(x.memref, {0, f, token});
        },
        [&](Val token, Val f, Val value) {
          k.store(value, y.memref, {token, f});
        });
    return success();
  }
};

// Every token of the result is the one.
struct SelectTokenKernel : GPUKernel<nn::SelectTokenOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::SelectTokenOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX()), y = Activation::of(op.getY());
    if (!x || !y)
      return failure();
    k.forEachThread(y.features * y.tokens, [&](Val i) {
      Val f = i / k.index(y.tokens), token = k.toIndex(k.load(op.getIndex(), {}));
      k.store(k.load(x.memref, {0, f, token}), y.memref, {0, f, i % k.index(y.tokens)});
    });
    return success();
  }
};

} // namespace

void smet::populateLayoutGPUKernels(RewritePatternSet &patterns) {
  patterns.add<PackKernel, UnpackKernel, SelectTokenKernel>(patterns.getContext());
}
