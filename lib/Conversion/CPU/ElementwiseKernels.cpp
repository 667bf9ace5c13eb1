//===- ElementwiseKernels.cpp - add, fill, silu_mul -----------------------===//
#include "NNKernels.h"
#include "smet/Conversion/Silu.h"

using namespace mlir;
using namespace smet;

namespace {

constexpr int64_t chunk = 8192; // elements of a work item

bool isWhole(Value value) { return isF32OrBF16(value) && cast<MemRefType>(value.getType()).hasStaticShape(); }

/// outs[i] = body(ins[i]) over all elements, vectors of `width` first, the rest one by one.
LogicalResult elementwise(KernelBuilder &k, int64_t width, ValueRange ins, ValueRange outs,
                          function_ref<Vals(Vals)> body) {
  for (Value value : llvm::concat<Value>(SmallVector<Value>(ins), SmallVector<Value>(outs)))
    if (!isWhole(value))
      return failure();
  int64_t n = cast<MemRefType>(outs[0].getType()).getNumElements();
  SmallVector<Value> sources, targets;
  for (Value value : ins)
    sources.push_back(k.flatten(value).get());
  for (Value value : outs)
    targets.push_back(k.flatten(value).get());
  parallelPieces(k, k.index(n / width * width), chunk, [&](Val begin, Val end) {
    k.loop(begin, end, width, [&](Val i) {
      Vals inputs;
      for (Value source : sources)
        inputs.push_back(k.loadVector(source, {i}, width));
      for (auto [result, target] : llvm::zip(body(inputs), targets))
        k.storeVector(result, target, {i});
    });
  });
  if (n % width)
    k.loop(n / width * width, n, 1, [&](Val i) {
      Vals inputs;
      for (Value source : sources)
        inputs.push_back(k.load(source, {i}));
      for (auto [result, target] : llvm::zip(body(inputs), targets))
        k.store(result, target, {i});
    });
  return success();
}

struct AddKernel : CPUKernel<nn::AddOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::AddOp op, KernelBuilder &k) const final {
    return elementwise(k, target.vectorBits / 32, {op.getA(), op.getB()}, op.getC(),
                       [](Vals in) -> Vals { return {in[0] + in[1]}; });
  }
};

struct FillKernel : CPUKernel<nn::FillOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::FillOp op, KernelBuilder &k) const final {
    if (!isWhole(op.getX()))
      return failure();
    Value x = k.flatten(op.getX()).get();
    int64_t n = cast<MemRefType>(x.getType()).getNumElements();
    Val value = k.real(op.getValue().convertToDouble(), k.b.getF32Type());
    parallelPieces(k, k.index(n), chunk,
                   [&](Val begin, Val end) { k.loop(begin, end, 1, [&](Val i) { k.store(value, x, {i}); }); });
    return success();
  }
};

struct SiluMulKernel : CPUKernel<nn::SiluMulOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::SiluMulOp op, KernelBuilder &k) const final {
    return elementwise(k, target.vectorBits / 32, {op.getGate(), op.getUp()}, op.getY(),
                       [&](Vals in) -> Vals { return {siluMul(k, in[0], in[1])}; });
  }
};

struct SiluMulGradKernel : CPUKernel<nn::SiluMulGradOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::SiluMulGradOp op, KernelBuilder &k) const final {
    return elementwise(k, target.vectorBits / 32, {op.getGate(), op.getUp(), op.getDy()}, {op.getDgate(), op.getDup()},
                       [&](Vals in) { return siluMulGrad(k, in[0], in[1], in[2]); });
  }
};

} // namespace

void smet::populateElementwiseKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<AddKernel, FillKernel, SiluMulKernel, SiluMulGradKernel>(patterns.getContext(), target);
}
