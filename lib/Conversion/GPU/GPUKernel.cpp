//===- GPUKernel.cpp - the inside of launches -----------------------------===//
#include "GPUKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace smet;

Activation Activation::of(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!isF32OrBF16(value) || type.getRank() != 3 || !type.hasStaticShape() || type.getDimSize(0) != 1 ||
      !type.getNumElements() || type.getDimSize(2) % (widestLoad / 2))
    return {};
  return {value, type.getDimSize(1), type.getDimSize(2)};
}

int64_t smet::divisorUpTo(int64_t size, int64_t most) {
  int64_t divisor = std::min(size, most);
  while (size % divisor)
    --divisor;
  return divisor;
}

GPUBuilder::GPUBuilder(OpBuilder &builder, Location loc) : KernelBuilder(builder, loc) { alignment = widestLoad; }

void GPUBuilder::launch(Val blocks, int64_t threads, function_ref<void(Val, Val)> body) {
  Type type = b.getIndexType();
  Value one = materialize(1, type);
  auto op = gpu::LaunchOp::create(b, loc, materialize(blocks, type), one, one, materialize(threads, type), one, one);
  launched = op;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getBody().front());
  body(wrap(op.getBlockIds().x), wrap(op.getThreadIds().x));
  gpu::TerminatorOp::create(b, loc);
}

void GPUBuilder::forEachThread(Val n, function_ref<void(Val)> body) {
  constexpr int64_t threads = 256;
  launch((toIndex(n) + (threads - 1)) / index(threads), threads, [&](Val block, Val thread) {
    Val i = block * index(threads) + thread;
    if (n.isConstant() && n.constantValue() % threads == 0)
      return body(i);
    ifThen(compare(Compare::lt, i, n), [&] { body(i); });
  });
}

void GPUBuilder::forEachPiece(int64_t n, int64_t lanes, function_ref<void(Val, int64_t)> body) {
  int64_t whole = n / lanes, rest = n % lanes;
  forEachThread(whole + rest, [&](Val i) {
    auto vector = [&] { body(i * index(lanes), lanes); };
    auto element = [&] { body(i + index(whole * lanes - whole), 0); };
    if (!rest)
      return vector();
    if (!whole)
      return element();
    ifElse(compare(Compare::lt, i, index(whole)), vector, element);
  });
}

void GPUBuilder::forEachWarp(Val n, function_ref<void(Val, Val)> body) {
  constexpr int64_t warps = 4;
  launch((toIndex(n) + (warps - 1)) / index(warps), warps * warpSize, [&](Val block, Val thread) {
    Val i = block * index(warps) + thread / index(warpSize);
    ifThen(compare(Compare::lt, i, n), [&] { body(i, thread % index(warpSize)); });
  });
}

Value GPUBuilder::shared(ArrayRef<int64_t> shape, Type element) {
  // As a number: convert-vector-to-llvm does not know the dialect's name of it.
  Attribute space = b.getI64IntegerAttr(3);
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
  return cast<gpu::LaunchOp>(launched).addWorkgroupAttribution(type, loc);
}

void GPUBuilder::barrier() { gpu::BarrierOp::create(b, loc); }

Val GPUBuilder::shuffleXor(Val value, int64_t mask) {
  return wrap(gpu::ShuffleOp::create(b, loc, value.get(), mask, warpSize, gpu::ShuffleMode::XOR).getShuffleResult());
}

Val GPUBuilder::warpSum(Val value, int64_t lanes) {
  for (int64_t mask = lanes / 2; mask; mask /= 2)
    value = value + shuffleXor(value, mask);
  return value;
}

Val GPUBuilder::warpMax(Val value) {
  for (int64_t mask = warpSize / 2; mask; mask /= 2)
    value = max(value, shuffleXor(value, mask));
  return value;
}
