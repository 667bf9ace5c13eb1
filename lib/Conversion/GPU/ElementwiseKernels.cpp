//===- ElementwiseKernels.cpp - add, fill, silu_mul -----------------------===//
//
// A thread has one load of each operand; what is left where they are no whole number has a thread an element.
//
//===----------------------------------------------------------------------===//
#include "GPUKernel.h"

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
  int64_t whole = n / width, rest = n % width;
  auto flat = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return k.flatten(value).get(); });
  };
  SmallVector<Value> sources = flat(ins), targets = flat(outs);
  auto vectors = [&](Val i) {
    Vals inputs;
    for (Value source : sources)
      inputs.push_back(k.loadVector(source, {i * k.index(width)}, width));
    for (auto [result, target] : llvm::zip(body(inputs), targets))
      k.storeVector(result, target, {i * k.index(width)});
  };
  auto elements = [&](Val i) {
    Vals inputs;
    for (Value source : sources)
      inputs.push_back(k.load(source, {i}));
    for (auto [result, target] : llvm::zip(body(inputs), targets))
      k.store(result, target, {i});
  };
  k.forEachThread(whole + rest, [&](Val i) {
    if (!rest)
      return vectors(i);
    if (!whole)
      return elements(i);
    k.ifElse(
        k.compare(KernelBuilder::Compare::lt, i, k.index(whole)), [&] { vectors(i); },
        [&] { elements(i + k.index(whole * width - whole)); });
  });
  return success();
}

Val sigmoid(GPUBuilder &k, Val x) { return k.real(1, x.type()) / (k.exp(k.neg(x)) + 1); }

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
    k.forEachThread(cast<MemRefType>(x.getType()).getNumElements(),
                    [&](Val i) { k.store(k.real(op.getValue().convertToDouble(), k.b.getF32Type()), x, {i}); });
    return success();
  }
};

struct SiluMulKernel : GPUKernel<nn::SiluMulOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::SiluMulOp op, GPUBuilder &k) const final {
    return elementwise(k, {op.getGate(), op.getUp()}, op.getY(),
                       [&](Vals in) -> Vals { return {in[0] * sigmoid(k, in[0]) * in[1]}; });
  }
};

// With s = sigmoid(gate): dgate = dy up s (1 + gate (1 - s)), dup = dy gate s.
struct SiluMulGradKernel : GPUKernel<nn::SiluMulGradOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::SiluMulGradOp op, GPUBuilder &k) const final {
    return elementwise(k, {op.getGate(), op.getUp(), op.getDy()}, {op.getDgate(), op.getDup()}, [&](Vals in) -> Vals {
      Val gate = in[0], up = in[1], dy = in[2], s = sigmoid(k, gate), one = k.real(1, s.type());
      return {dy * up * s * (one + gate * (one - s)), dy * gate * s};
    });
  }
};

} // namespace

void smet::populateElementwiseGPUKernels(RewritePatternSet &patterns) {
  patterns.add<AddKernel, FillKernel, SiluMulKernel, SiluMulGradKernel>(patterns.getContext());
}
