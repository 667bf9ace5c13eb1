//===- Turn.cpp - from rows to columns ------------------------------------===//
//
// A block turns a square in shared memory. Rows there are one element longer than the square: a column lies in as many
// banks as it has elements.
//
//===----------------------------------------------------------------------===//
#include "Turn.h"

using namespace mlir;
using namespace smet;

static constexpr int64_t side = warpSize, rows = 8, threads = side * rows;

void smet::turn(GPUBuilder &k, int64_t m, int64_t n, function_ref<Val(Val, Val)> read,
                function_ref<void(Val, Val, Val)> write) {
  int64_t across = llvm::divideCeil(n, side);
  k.launch(k.index(llvm::divideCeil(m, side) * across), threads, [&](Val block, Val thread) {
    Val i0 = block / k.index(across) * k.index(side), j0 = block % k.index(across) * k.index(side);
    Val lane = thread % k.index(side), row = thread / k.index(side);
    Value square = k.shared({side, side + 1}, k.b.getF32Type());
    auto isInside = [&](Val i, Val j) {
      auto below = [&](Val a, int64_t b) { return k.compare(KernelBuilder::Compare::lt, a, k.index(b)); };
      return k.bitAnd(below(i, m), below(j, n));
    };
    for (int64_t r = 0; r < side; r += rows) {
      Val j = row + k.index(r);
      k.ifThen(isInside(i0 + lane, j0 + j), [&] { k.store(read(j0 + j, i0 + lane), square, {j, lane}); });
    }
    k.barrier();
    for (int64_t r = 0; r < side; r += rows) {
      Val i = row + k.index(r);
      k.ifThen(isInside(i0 + i, j0 + lane), [&] { write(i0 + i, j0 + lane, k.load(square, {lane, i})); });
    }
  });
}

void smet::turnInto(GPUBuilder &k, const Activation &y, int64_t tokens, function_ref<Val(Val, Val)> read) {
  Type f32 = k.b.getF32Type();
  auto readOrZero = [&](Val token, Val f) {
    return k.ifElse(
        k.compare(KernelBuilder::Compare::lt, token, k.index(tokens)), {f32},
        [&]() -> Vals { return {read(token, f)}; }, [&]() -> Vals { return {k.zero(f32)}; })[0];
  };
  turn(k, y.features, y.tokens, readOrZero, [&](Val f, Val token, Val value) {
    k.store(value, y.memref, {0, f, token});
  });
}
