//===- RopeKernels.cpp - rotary position embedding ------------------------===//
//
// Tables of cosine and sine [D/2][positions] are computed in double by the compiler and live in the program's constant
// data, so that a tile of consecutive tokens loads its angles as vectors.
//
//===----------------------------------------------------------------------===//
#include "NNKernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cmath>

using namespace mlir;
using namespace smet;

namespace {

/// The module's constant `name` with this data; another one of that name gets a number behind it.
memref::GlobalOp constantTable(KernelBuilder &k, StringRef name, MemRefType type, DenseElementsAttr data) {
  auto module = k.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string symbol = name.str();
  for (int64_t number = 1; Operation *taken = module.lookupSymbol(symbol); ++number) {
    if (auto global = dyn_cast<memref::GlobalOp>(taken); global && global.getInitialValueAttr() == data)
      return global;
    symbol = (name + "_" + Twine(number)).str();
  }
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(module.getBody());
  return memref::GlobalOp::create(k.b, k.loc, symbol, k.b.getStringAttr("private"), type, data, /*constant=*/true,
                                  k.b.getI64IntegerAttr(64));
}

/// A constant table of f(angle) for every frequency and position.
Value angleTable(KernelBuilder &k, StringRef name, int64_t headDim, int64_t positions, int64_t period, double theta,
                 double (*f)(double)) {
  SmallVector<float> values;
  for (int64_t i = 0; i < headDim / 2; ++i)
    for (int64_t p = 0; p < positions; ++p)
      values.push_back(static_cast<float>(f((p % period) * std::pow(theta, -2.0 * i / headDim))));
  auto type = MemRefType::get({headDim / 2, positions}, k.b.getF32Type());
  auto data = DenseElementsAttr::get(RankedTensorType::get(type.getShape(), type.getElementType()), ArrayRef(values));
  return memref::GetGlobalOp::create(k.b, k.loc, type, constantTable(k, name, type, data).getSymName());
}

/// Rotates features i and i + D/2 of every head of a tile; angles(i) gives cosine and sine.
void rotate(KernelBuilder &k, const Tiles &x, const Tiles &y, Val tile, int64_t headDim,
            function_ref<std::pair<Val, Val>(Val)> angles) {
  k.loop(0, headDim / 2, 1, [&](Val i) {
    auto [cosine, sine] = angles(i);
    k.loop(0, x.features, headDim, [&](Val head) {
      Val low = head + i, high = low + headDim / 2;
      Val a = x.load(k, tile, low), b = x.load(k, tile, high);
      y.store(k, a * cosine - b * sine, tile, low);
      y.store(k, b * cosine + a * sine, tile, high);
    });
  });
}

struct RopeKernel : CPUKernel<nn::RopeOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::RopeOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    int64_t headDim = op.getHeadDim(), period = op.getSeqLen();
    // Tiles that straddle sequences need the angles of every token.
    int64_t positions = period % x.lanes == 0 ? period : x.tiles * x.lanes;
    double theta = op.getTheta().convertToDouble();
    Value cosines = angleTable(k, "rope_cos", headDim, positions, period, theta, std::cos);
    Value sines = angleTable(k, "rope_sin", headDim, positions, period, theta, std::sin);
    k.parallel(x.tiles, [&](Val tile) {
      Val first = (tile * x.lanes) % k.index(positions);
      rotate(k, x, y, tile, headDim, [&](Val i) {
        Val sine = k.loadVector(sines, {i, first}, x.lanes);
        return std::pair(k.loadVector(cosines, {i, first}, x.lanes), op.getInverse() ? k.neg(sine) : sine);
      });
    });
    return success();
  }
};

struct RopeAtKernel : CPUKernel<nn::RopeAtOp> {
  using CPUKernel::CPUKernel;
  LogicalResult emit(nn::RopeAtOp op, KernelBuilder &k) const final {
    Tiles x = Tiles::of(op.getX()), y = Tiles::of(op.getY());
    if (!x || !y)
      return failure();
    int64_t headDim = op.getHeadDim(), positions = op.getSeqLen();
    double theta = op.getTheta().convertToDouble();
    Value cosines = angleTable(k, "rope_cos", headDim, positions, positions, theta, std::cos);
    Value sines = angleTable(k, "rope_sin", headDim, positions, positions, theta, std::sin);
    Val position = k.toIndex(k.load(op.getPosition(), {}));
    k.loop(0, x.tiles, 1, [&](Val tile) {
      rotate(k, x, y, tile, headDim, [&](Val i) {
        return std::pair(k.broadcast(k.load(cosines, {i, position}), x.lanes),
                         k.broadcast(k.load(sines, {i, position}), x.lanes));
      });
    });
    return success();
  }
};

} // namespace

void smet::populateRopeKernels(RewritePatternSet &patterns, const CPUTarget &target) {
  patterns.add<RopeKernel, RopeAtKernel>(patterns.getContext(), target);
}
