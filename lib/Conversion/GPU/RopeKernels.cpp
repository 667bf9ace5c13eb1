//===- RopeKernels.cpp - rotary position embedding ------------------------===//
//
// A thread has a pair of features of every head for four tokens. It computes their angles in double: tables would have
// to be carried to the device, and no kernel waits for these few operations.
//
//===----------------------------------------------------------------------===//
#include "GPUKernel.h"

#include "smet/Dialect/NN/IR/NN.h"

#include <cmath>

using namespace mlir;
using namespace smet;

namespace {

/// Functions of double by polynomials, to about 1e-15: f32 are rounded from them as from the math library's.
class DoubleMath {
public:
  explicit DoubleMath(GPUBuilder &k) : k(k), f64(k.b.getF64Type()) {}

  /// 2^x for -1022 < x < 1023: 2^n 2^f with |f| <= 1/2, the latter by its Taylor series.
  Val exp2(Val x) const {
    auto [n, bits] = round(x);
    Val f = (x - n) * real(M_LN2), sum = real(1);
    for (int i = 14; i > 0; --i)
      sum = k.fma(sum, f * real(1.0 / i), real(1));
    Val exponent = k.shiftLeft(bits + k.integer(1023, bits.type()), k.integer(52, bits.type()));
    return sum * k.bitcast(exponent, f64);
  }

  /// Cosine and sine of |x| < 2^30: of the rest after quarters of a turn, by Taylor series.
  std::pair<Val, Val> cosineAndSine(Val x) const {
    auto [n, quarters] = round(x * real(M_2_PI));
    constexpr double high = 0x1.921fb544p0, low = M_PI_2 - high; // n high is exact
    Val r = k.fma(n, real(-low), k.fma(n, real(-high), x)), square = r * r;
    Val sine = real(1), cosine = real(1);
    for (int i = 16; i > 0; i -= 2) {
      sine = k.fma(sine * square, real(-1.0 / (i * (i + 1))), real(1));
      cosine = k.fma(cosine * square, real(-1.0 / (i * (i - 1))), real(1));
    }
    sine = sine * r;
    // A quarter of a turn makes (c, s) to (-s, c).
    auto isSet = [&](Val value, int64_t bit) {
      return k.compare(KernelBuilder::Compare::ne, k.bitAnd(value, k.integer(bit, value.type())), 0);
    };
    Val odd = isSet(quarters, 1), c = k.select(odd, k.neg(sine), cosine), s = k.select(odd, cosine, sine);
    Val half = isSet(quarters, 2);
    return {k.select(half, k.neg(c), c), k.select(half, k.neg(s), s)};
  }

private:
  Val real(double value) const { return k.real(value, f64); }

  /// The nearest integer as double and as i64, by a sum that has no bits below one.
  std::pair<Val, Val> round(Val x) const {
    constexpr double rounding = 0x1.8p52;
    Val sum = x + real(rounding);
    Type i64 = k.b.getI64Type();
    return {sum - real(rounding), k.bitcast(sum, i64) - k.bitcast(real(rounding), i64)};
  }

  GPUBuilder &k;
  Type f64;
};

/// The rotation of a pair of features: cosine and sine of position * theta^(-2 i / D), in f32.
std::pair<Val, Val> angles(GPUBuilder &k, Val i, Val position, int64_t headDim, double theta) {
  DoubleMath math(k);
  Type i64 = k.b.getI64Type(), f64 = k.b.getF64Type(), f32 = k.b.getF32Type();
  auto toDouble = [&](Val value) { return k.cast(k.fromIndex(value, i64), f64); };
  Val frequency = math.exp2(toDouble(i) * k.real(-2 * std::log2(theta) / double(headDim), f64));
  auto [cosine, sine] = math.cosineAndSine(toDouble(position) * frequency);
  return {k.cast(cosine, f32), k.cast(sine, f32)};
}

constexpr int64_t width = 4;

/// Rotates features i and i + D/2 of every head, for tokens from `token` on; `rotations` are of these tokens.
void rotate(GPUBuilder &k, const Activation &x, const Activation &y, Val i, Val token, int64_t headDim, Val cosine,
            Val sine) {
  k.loop(0, k.index(x.features), headDim, [&](Val head) {
    Val low = head + i, high = low + headDim / 2;
    Val a = x.load(k, low, token, width), b = x.load(k, high, token, width);
    y.store(k, a * cosine - b * sine, low, token);
    y.store(k, b * cosine + a * sine, high, token);
  });
}

/// body(i, token) on a thread for every frequency and four tokens.
void forAngles(GPUBuilder &k, const Activation &x, int64_t headDim, function_ref<void(Val, Val)> body) {
  int64_t pieces = x.tokens / width;
  k.forEachThread(headDim / 2 * pieces,
                  [&](Val item) { body(item / k.index(pieces), item % k.index(pieces) * k.index(width)); });
}

struct RopeKernel : GPUKernel<nn::RopeOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::RopeOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX()), y = Activation::of(op.getY());
    if (!x || !y)
      return failure();
    int64_t headDim = op.getHeadDim();
    forAngles(k, x, headDim, [&](Val i, Val token) {
      Type f32 = k.b.getF32Type();
      Val cosines = k.zero(k.vectorOf(width, f32)), sines = cosines;
      for (int64_t lane = 0; lane < width; ++lane) {
        Val position = (token + k.index(lane)) % k.index(op.getSeqLen());
        auto [cosine, sine] = angles(k, i, position, headDim, op.getTheta().convertToDouble());
        cosines = k.insert(cosine, cosines, lane);
        sines = k.insert(op.getInverse() ? k.neg(sine) : sine, sines, lane);
      }
      rotate(k, x, y, i, token, headDim, cosines, sines);
    });
    return success();
  }
};

struct RopeAtKernel : GPUKernel<nn::RopeAtOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::RopeAtOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX()), y = Activation::of(op.getY());
    if (!x || !y)
      return failure();
    int64_t headDim = op.getHeadDim();
    forAngles(k, x, headDim, [&](Val i, Val token) {
      Val position = k.toIndex(k.load(op.getPosition(), {}));
      auto [cosine, sine] = angles(k, i, position, headDim, op.getTheta().convertToDouble());
      rotate(k, x, y, i, token, headDim, k.broadcast(cosine, width), k.broadcast(sine, width));
    });
    return success();
  }
};

} // namespace

void smet::populateRopeGPUKernels(RewritePatternSet &patterns) {
  patterns.add<RopeKernel, RopeAtKernel>(patterns.getContext());
}
