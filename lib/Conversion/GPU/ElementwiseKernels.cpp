//===- ElementwiseKernels.cpp - add, fill, silu_mul -----------------------===//
//
// A thread has one load of each operand; what is left where they are no whole number has a thread an element.
//
//===----------------------------------------------------------------------===//
#include "GPUKernel.h"

#include "smet/Conversion/Silu.h"
#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

namespace {

bool isWhole(Value value) { return isF32OrBF16(value) && cast<MemRefType>(value.getType()).hasStaticShape(); }

/// outs[i] = body(ins[i]) over all elements.
LogicalResult elementwise(GPUBuilder &k, ValueRange ins, ValueRange outs, function_ref<Vals(Vals)> body) {
  SmallVector<Value> operands(ins);
  llvm::append_range(operands, outs);
  if (!llvm::all_of(operands, isWhole))
    return failure();
  bool allF32 = llvm::all_of(operands, [](Value value) { return isF32(value); });
  int64_t width = widestLoad / (allF32 ? 4 : 2), n = cast<MemRefType>(outs[0].getType()).getNumElements();
  auto flat = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return k.flatten(value).get(); });
  };
  SmallVector<Value> sources = flat(ins), targets = flat(outs);
  k.forEachPiece(n, width, [&](Val i, int64_t lanes) {
    Vals inputs;
    for (Value source : sources)
      inputs.push_back(k.loadPiece(source, i, lanes));
    for (auto [result, target] : llvm::zip(body(inputs), targets))
      k.storePiece(result, target, i, lanes);
  });
  return success();
}

struct AddKernel : GPUKernel<nn::AddOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::AddOp op, GPUBuilder &k) const final {
    return elementwise(k, {op.getA(), op.getB()}, op.getC(), [](Vals in) -> Vals { return {in[0] + in[1]}; });
  }
};

struct FillKernel : GPUKernel<nn::FillOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::FillOp op, GPUBuilder &k) const final {
    if (!isWhole(op.getX()))
      return failure();
    Value x = k.flatten(op.getX()).get();
    auto type = cast<MemRefType>(x.getType());
    int64_t width = widestLoad * 8 / type.getElementTypeBitWidth();
    k.forEachPiece(type.getNumElements(), width, [&](Val i, int64_t lanes) {
      Val value = k.real(op.getValue().convertToDouble(), k.b.getF32Type());
      k.storePiece(lanes ? k.broadcast(value, lanes) : value, x, i, lanes);
    });
    return success();
  }
};

struct SiluMulKernel : GPUKernel<nn::SiluMulOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::SiluMulOp op, GPUBuilder &k) const final {
    return elementwise(k, {op.getGate(), op.getUp()}, op.getY(),
                       [&](Vals in) -> Vals { return {siluMul(k, in[0], in[1])}; });
  }
};

struct SiluMulGradKernel : GPUKernel<nn::SiluMulGradOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::SiluMulGradOp op, GPUBuilder &k) const final {
    return elementwise(k, {op.getGate(), op.getUp(), op.getDy()}, {op.getDgate(), op.getDup()},
                       [&](Vals in) { return siluMulGrad(k, in[0], in[1], in[2]); });
  }
};

} // namespace

void smet::populateElementwiseGPUKernels(RewritePatternSet &patterns) {
  patterns.add<AddKernel, FillKernel, SiluMulKernel, SiluMulGradKernel>(patterns.getContext());
}
