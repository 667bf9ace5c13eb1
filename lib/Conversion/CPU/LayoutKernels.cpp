//===- LayoutKernels.cpp - pack, unpack, select_token ---------------------===//
#include "NNKernels.h"

using namespace mlir;
using namespace smet;

namespace {

bool isTokenMajor(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && type.getRank() == 2 && type.hasStaticShape();
}

struct PackKernel : CPUKernel<nn::PackOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::PackOp op, KernelBuilder &k) const final {
    Tiles y = Tiles::of(op.getY());
    if (!y || !isTokenMajor(op.getX()))
      return failure();
    int64_t tokens = cast<MemRefType>(op.getX().getType()).getDimSize(0);
    k.parallel(y.tiles, [&](Val tile) {
      Val first = tile * y.lanes, count = k.min(k.index(tokens) - first, k.index(y.lanes));
      k.loop(0, y.features, 1, [&](Val f) {
        y.store(k, k.zero(k.vectorOf(y.lanes, k.b.getF32Type())), tile, f);
        k.loop(0, count, 1, [&](Val lane) {
          k.store(k.load(op.getX(), {first + lane, f}), y.memref, {tile, f, lane});
        });
      });
    });
    return success();
  }
};

struct UnpackKernel : CPUKernel<nn::UnpackOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::UnpackOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX());
    if (!x || !isTokenMajor(op.getY()))
      return failure();
    int64_t tokens = cast<MemRefType>(op.getY().getType()).getDimSize(0);
    k.parallel(x.tiles, [&](Val tile) {
      Val first = tile * x.lanes, count = k.min(k.index(tokens) - first, k.index(x.lanes));
      k.loop(0, count, 1, [&](Val lane) {
        k.loop(0, x.features, 1, [&](Val f) {
          k.store(k.load(x.memref, {tile, f, lane}), op.getY(), {first + lane, f});
        });
      });
    });
    return success();
  }
};

// Every lane of the result holds the token.
struct SelectTokenKernel : CPUKernel<nn::SelectTokenOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::SelectTokenOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    Val token = k.toIndex(k.load(op.getIndex(), {}));
    k.loop(0, x.features, 1, [&](Val f) {
      Val value = k.load(x.memref, {token / x.lanes, f, token % x.lanes});
      y.store(k, k.broadcast(value, y.lanes), 0, f);
    });
    return success();
  }
};

} // namespace

void smet::populateLayoutKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<PackKernel, UnpackKernel, SelectTokenKernel>(patterns.getContext(), target);
}
