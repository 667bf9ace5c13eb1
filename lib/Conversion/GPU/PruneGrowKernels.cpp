//===- PruneGrowKernels.cpp - which blocks go, which come, on the GPU -----===//
#include "TopologyKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

//===----------------------------------------------------------------------===//
// prune
//===----------------------------------------------------------------------===//

/// As an integer that orders like the number; -0 is 0. NaN is not expected.
static Val orderedBits(GPUBuilder &k, Val score) {
  Type i32 = k.b.getI32Type();
  Val sign = k.integer(0x80000000, i32), bits = k.bitcast(score, i32);
  bits = k.select(k.compare(Compare::eq, bits, sign), k.zero(i32), bits);
  Val isNegative = k.compare(Compare::ge, bits, sign);
  return k.cast(k.bitXor(bits, k.select(isNegative, k.integer(0xffffffff, i32), sign)), k.b.getI64Type());
}

/// floor(rate * nnz), 0 if the rate is bad.
static Val numberToPrune(GPUBuilder &k, Val rate, int64_t nnz) {
  Type f64 = k.b.getF64Type();
  Val isGood = k.bitAnd(k.compare(Compare::ge, rate, k.real(0, f64)), k.compare(Compare::le, rate, k.real(1, f64)));
  Val product = k.select(isGood, rate, k.real(0, f64)) * k.real(static_cast<double>(nnz), f64);
  return k.toIndex(k.wrap(arith::FPToUIOp::create(k.b, k.loc, k.b.getI64Type(), product.get())));
}

LogicalResult smet::emitPrune(RoutineOp op, GPUBuilder &k) {
  if (op.getInputs().size() != 2 || op.getInits().size() != 2 || op.getWords().size() != 2)
    return failure();
  Value score = op.getInputs()[0], rate = op.getInputs()[1], keep = op.getInits()[0], nan = op.getInits()[1];
  int64_t nnz = op.getWords()[0], blocks = op.getWords()[1];
  auto first = [&](Val a, Val b) { return k.min(a, b); };
  Pieces pieces(nnz);
  Value nans = pieces.reduce(
      k, nnz,
      [&](Val slot) {
        Val value = k.load(score, {slot});
        return k.select(k.compare(Compare::eq, value, value), nnz, slot);
      },
      first);
  Selection smallest(k, nnz, {32, [&](Val slot) { return orderedBits(k, k.load(score, {slot})); }, {}});
  k.launch(1, 1, [&](Val, Val) {
    Val slot = pieces.merged(k, nans, nnz, first), isNone = k.compare(Compare::eq, slot, nnz);
    Type i64 = k.b.getI64Type();
    k.store(k.select(isNone, k.integer(-1, i64), k.fromIndex(slot, i64)), nan, {});
    Val count = k.min(numberToPrune(k, k.load(rate, {}), nnz), blocks - nnz);
    smallest.setCount(k.select(isNone, count, 0));
  });
  smallest.find();
  Type i8 = k.b.getI8Type();
  smallest.forEach([&](Val slot, Val isTaken, Val) {
    k.store(k.select(isTaken, k.integer(0, i8), k.integer(1, i8)), keep, {slot});
  });
  return success();
}

//===----------------------------------------------------------------------===//
// grow
//===----------------------------------------------------------------------===//

/// Philox4x32-10 of runtime/cpu/Philox.h: the first two of four words, as one of 64 bits.
static Val philox(GPUBuilder &k, std::array<Val, 4> c, std::array<Val, 2> key) {
  Type i32 = k.b.getI32Type(), i64 = k.b.getI64Type();
  auto word = [&](int64_t value) { return k.integer(value, i32); };
  auto product = [&](Val a, int64_t b) { return k.cast(a, i64) * k.integer(b, i64); };
  auto low = [&](Val a) { return k.cast(a, i32); };
  auto high = [&](Val a) { return k.cast(k.shiftRight(a, 32), i32); };
  for (int round = 0; round < 10; ++round) {
    Val p0 = product(c[0], 0xD2511F53), p1 = product(c[2], 0xCD9E8D57);
    c = {k.bitXor(k.bitXor(high(p1), c[1]), key[0]), low(p1), k.bitXor(k.bitXor(high(p0), c[3]), key[1]), low(p0)};
    key = {key[0] + word(0x9E3779B9), key[1] + word(0xBB67AE85)};
  }
  return k.bitOr(k.cast(c[0], i64), k.shiftLeft(k.cast(c[1], i64), 32));
}

namespace {

/// The operands of grow_random.
struct GrowArguments {
  explicit GrowArguments(RoutineOp op)
      : positions(op.getInputs()[0]), coordinates(op.getInputs()[1]), keep(op.getInputs()[2]), seed(op.getInputs()[3]),
        update(op.getInputs()[4]), layer(op.getInputs()[5]), grown(op.getInits()[0]) {
    ArrayRef<int64_t> words = op.getWords();
    columns = words[1] / words[3];
    blocks = words[0] / words[2] * columns;
    nnz = words[4];
    regrowPruned = words[6];
  }

  /// The key of a block: as the CPU's randomKey, in the stream of topologies, which is 0.
  Val key(GPUBuilder &k, Val block) const {
    Type i32 = k.b.getI32Type(), i64 = k.b.getI64Type();
    Val wide = k.fromIndex(block, i64), seeds = k.load(seed, {});
    auto low = [&](Val value) { return k.cast(value, i32); };
    auto high = [&](Val value) { return k.cast(k.shiftRight(value, 32), i32); };
    return philox(k, {low(wide), high(wide), low(k.wrap(layer)), low(k.load(update, {}))}, {low(seeds), high(seeds)});
  }

  /// Inactive before the update, or pruned and allowed to come back.
  Val isEligible(GPUBuilder &k, Val block) const {
    Type i1 = k.b.getI1Type();
    Val row = block / k.index(columns), column = block % k.index(columns);
    auto coordinate = [&](Val slot) { return k.toIndex(k.load(coordinates, {slot})); };
    Val end = k.toIndex(k.load(positions, {row + 1}));
    Val slot = lowerBound(k, std::min(columns, nnz), k.toIndex(k.load(positions, {row})), end,
                          [&](Val s) { return k.compare(Compare::lt, coordinate(s), column); });
    auto ofSlot = [&]() -> Vals {
      Val isOther = k.compare(Compare::ne, coordinate(slot), column);
      return {regrowPruned ? k.bitOr(isOther, isPruned(k, slot)) : isOther};
    };
    return k.ifElse(k.compare(Compare::lt, slot, end), {i1}, ofSlot, [&]() -> Vals { return {k.integer(1, i1)}; })[0];
  }

  Val isPruned(GPUBuilder &k, Val slot) const { return k.compare(Compare::eq, k.load(keep, {slot}), 0); }

  Value positions, coordinates, keep, seed, update, layer, grown;
  int64_t columns, blocks, nnz;
  bool regrowPruned;
};

} // namespace

LogicalResult smet::emitGrow(RoutineOp op, GPUBuilder &k) {
  if (op.getInputs().size() != 6 || op.getInits().size() != 1 || op.getWords().size() != 7)
    return failure();
  GrowArguments growth(op);
  if (!growth.nnz)
    return success();
  Pieces slots(growth.nnz);
  auto sum = [](Val a, Val b) { return a + b; };
  Value counts = slots.reduce(
      k, 0, [&](Val slot) { return k.select(growth.isPruned(k, slot), k.index(1), k.index(0)); }, sum);
  Selection smallest(
      k, growth.blocks,
      {64, [&](Val block) { return growth.key(k, block); }, [&](Val block) { return growth.isEligible(k, block); }});
  // As many as prune has taken there always are; no others are looked for where something else made `keep`.
  k.launch(1, 1, [&](Val, Val) {
    Val pruned = slots.merged(k, counts, 0, sum), inactive = k.index(growth.blocks - growth.nnz);
    smallest.setCount(growth.regrowPruned ? pruned : k.min(pruned, inactive));
  });
  smallest.find();
  Type i32 = k.b.getI32Type();
  k.forEachThread(growth.nnz, [&](Val i) { k.store(k.integer(-1, i32), growth.grown, {i}); });
  smallest.forEach([&](Val block, Val isTaken, Val place) {
    k.ifThen(isTaken, [&] { k.store(k.fromIndex(block, i32), growth.grown, {place}); });
  });
  return success();
}
