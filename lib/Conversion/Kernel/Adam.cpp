//===- Adam.cpp - the optimizer's formula ---------------------------------===//
#include "smet/Conversion/Adam.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace smet;

/// Ages are 16 bits wide and saturate.
static constexpr int64_t maxAge = 65535;

/// 1 / (1 - beta^age): the power by squaring in double, rounded once at the end.
static Val correction(KernelBuilder &k, double beta, Val age, unsigned bits) {
  Type f64 = k.b.getF64Type();
  if (auto vector = dyn_cast<VectorType>(age.type()))
    f64 = vector.clone(f64);
  Val power = k.real(1, f64);
  double square = beta;
  for (unsigned bit = 0; bit < bits; ++bit, square *= square) {
    Val set = k.compare(KernelBuilder::Compare::ne, k.bitAnd(age, k.integer(int64_t(1) << bit, age.type())), 0);
    power = k.select(set, power * k.real(square, f64), power);
  }
  Val one = k.real(1, f64);
  return k.cast(one / (one - power), k.b.getF32Type());
}

AdamEmitter::Common AdamEmitter::common(KernelBuilder &k, AdamWAttr adamw, Value lr, Value stepRef, Val density,
                                        bool countsAge) {
  Type f64 = k.b.getF64Type();
  Val step = k.load(stepRef, {}), rate = k.cast(k.load(lr, {}), f64);
  if (density)
    rate = rate / k.sqrt(density);
  // Most blocks are as old as the run: their correction is computed once. Where a == t, t is not above maxAge.
  Val age = countsAge ? k.min(step, maxAge) : step;
  unsigned bits = countsAge ? 16 : 63;
  return {step, k.cast(rate, k.b.getF32Type()), correction(k, adamw.getBeta1().value, age, bits),
          correction(k, adamw.getBeta2().value, age, bits)};
}

/// One step older, in 32 bits.
static Val nextAge(KernelBuilder &k, Val age) { return k.min(k.cast(age, k.b.getI32Type()) + 1, maxAge); }

Val AdamEmitter::older(Val age) { return k.cast(nextAge(k, age), k.b.getI16Type()); }

Val AdamEmitter::advance(Val age, Factors &factors) {
  Type f32 = k.b.getF32Type(), i64 = k.b.getI64Type();
  Val next = nextAge(k, age);
  Val sinceStart = k.compare(KernelBuilder::Compare::eq, k.cast(next, i64), ofStep.step);
  auto vector = dyn_cast<VectorType>(age.type());
  Type real = vector ? Type(vector.clone(f32)) : f32;
  auto splat = [&](Val scalar) { return k.wrap(k.materialize(scalar, real)); };
  Vals corrections = k.ifElse(
      vector ? k.all(sinceStart) : sinceStart, {real, real},
      [&]() -> Vals {
        return {splat(ofStep.first), splat(ofStep.second)};
      },
      [&]() -> Vals {
        return {correction(k, adamw.getBeta1().value, next, 16), correction(k, adamw.getBeta2().value, next, 16)};
      });
  factors = {corrections[0], corrections[1], splat(ofStep.rate)};
  if (int64_t updates = adamw.getWarmupUpdates(); updates > 1) {
    Val ramp = k.min(k.cast(next, f32) / k.real(updates, real), k.real(1, real));
    factors.rate = k.select(sinceStart, factors.rate, factors.rate * ramp);
  }
  return k.cast(next, k.b.getI16Type());
}

// Products and sums are fused by hand: scalar and vector forms round alike.
void AdamEmitter::update(const Factors &factors, Val gradient, Val &w, Val &m, Val &v) {
  Type type = w.type();
  auto real = [&](double value) { return k.real(value, type); };
  double beta1 = adamw.getBeta1().value, beta2 = adamw.getBeta2().value;
  m = k.fma(real(1 - beta1), gradient, m * real(beta1));
  v = k.fma(gradient * real(1 - beta2), gradient, v * real(beta2));
  Val direction = m * factors.first / (k.sqrt(v * factors.second) + real(adamw.getEps().value));
  if (double decay = adamw.getWeightDecay().value)
    direction = k.fma(real(decay), w, direction);
  w = k.fma(k.neg(factors.rate), direction, w);
}

// The finalizer "lowbias32" by C. Wellons: each bit of the input changes each of the result about half of the time. One
// stream for all layers: roundings of different arrays have nothing to do with each other anyway.
Val AdamEmitter::randomBits(Val at, Type like) {
  Type i32 = k.b.getI32Type();
  Val bits = k.fromIndex(at, i32);
  if (auto vector = dyn_cast<VectorType>(like))
    bits = k.iota(vector.getNumElements(), i32) + bits;
  bits = bits * int32_t(0x9e3779b9) + k.cast(ofStep.step, i32) * int32_t(0x85ebca6b);
  bits = k.bitXor(bits, k.shiftRight(bits, 16)) * int32_t(0x7feb352d);
  bits = k.bitXor(bits, k.shiftRight(bits, 15)) * int32_t(0x846ca68b);
  return k.bitXor(bits, k.shiftRight(bits, 16));
}

void AdamEmitter::storeWeights(Val weights, Val at, Value w) {
  if (cast<MemRefType>(w.getType()).getElementType().isBF16())
    return k.storeStochastic(weights, randomBits(at, weights.type()), w, {at});
  isa<VectorType>(weights.type()) ? k.storeVector(weights, w, {at}) : k.store(weights, w, {at});
}

void AdamEmitter::updateRange(const Factors &factors, int64_t size, Val offset,
                              function_ref<Val(Val, int64_t)> gradient, Value w, Value m, Value v) {
  auto piece = [&](Val i, int64_t width) {
    Val at = offset + i;
    auto load = [&](Value array) { return width ? k.loadVector(array, {at}, width) : k.load(array, {at}); };
    auto store = [&](Val value, Value array) {
      width ? k.storeVector(value, array, {at}) : k.store(value, array, {at});
    };
    Val newW = load(w), newM = load(m), newV = load(v);
    update(factors, gradient(i, width), newW, newM, newV);
    storeWeights(newW, at, w);
    store(newM, m);
    store(newV, v);
  };
  if (int64_t full = size / lanes * lanes)
    k.loop(0, full, lanes, [&](Val i) { piece(i, lanes); });
  if (size % lanes)
    k.loop(size / lanes * lanes, size, 1, [&](Val i) { piece(i, 0); });
}

void AdamEmitter::updateSlot(Val slot, int64_t size, function_ref<Val(Val, int64_t)> gradient, Value w, Value m,
                             Value v, Value age) {
  Factors factors;
  k.store(advance(k.load(age, {slot}), factors), age, {slot});
  updateRange(factors, size, slot * size, gradient, w, m, v);
}

void AdamEmitter::updateSingles(Val begin, Val end, function_ref<Val(Val, int64_t)> gradient, Value w, Value m, Value v,
                                Value age) {
  auto body = [&](Val slot) {
    Factors factors;
    k.storeVector(advance(k.loadVector(age, {slot}, lanes), factors), age, {slot});
    Val newW = k.loadVector(w, {slot}, lanes), newM = k.loadVector(m, {slot}, lanes),
        newV = k.loadVector(v, {slot}, lanes);
    update(factors, gradient(slot, lanes), newW, newM, newV);
    storeWeights(newW, slot, w);
    k.storeVector(newM, m, {slot});
    k.storeVector(newV, v, {slot});
  };
  k.vectorLoop(begin, end, lanes, body, [&](Val slot) {
    updateSlot(
        slot, 1, [&](Val, int64_t) { return gradient(slot, 0); }, w, m, v, age);
  });
}

Val smet::densityFor(KernelBuilder &k, AdamWAttr adamw, TopologyType type, Value values) {
  if (!adamw.getLrScaling())
    return Val();
  Type f64 = k.b.getF64Type(), i64 = k.b.getI64Type();
  Val nnz = k.cast(k.fromIndex(k.size(values, 0), i64), f64);
  return nnz / k.real(static_cast<double>(type.getNumBlocks()), f64);
}
