//===- TopologyUpdateKernels.cpp - the new topology, and arrays in its order -===//
#include "TopologyKernels.h"

#include "smet/Conversion/Topology.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

//===----------------------------------------------------------------------===//
// update_topology
//===----------------------------------------------------------------------===//

namespace {

/// The operands of update_topology, and scratch.
struct Update {
  Update(RoutineOp op, GPUBuilder &k)
      : k(k), keep(op.getInputs()[0]),
        grown(op.getInputs()[1]), arrays{op.getInits()[0], op.getInits()[1], op.getInits()[2], op.getInits()[3],
                                         op.getInits()[4]},
        slotMap(op.getInits()[5]), rows(op.getWords()[0] / op.getWords()[2]),
        columns(op.getWords()[1] / op.getWords()[3]), nnz(op.getWords()[4]),
        blocks(k.workspace({nnz}, k.b.getI32Type()).get()), buffer(k.workspace({nnz + 1}, k.b.getI32Type()).get()) {}

  void merge();
  void writeRows();
  void sortByColumn();
  void writeColumns();

private:
  Val load(Value array, Val i) { return k.toIndex(k.load(array, {i})); }
  void store(Val index, Value array, Val i) {
    k.store(k.fromIndex(index, cast<MemRefType>(array.getType()).getElementType()), array, {i});
  }
  void sortByDigit(int64_t shift, Value from, Value to);

  GPUBuilder &k;
  Value keep, grown;
  TopologyArrays arrays;
  Value slotMap;
  int64_t rows, columns, nnz; ///< of the grid of blocks
  Value blocks;               ///< that are active after the update, ascending
  Value buffer;               ///< first the number of slots kept before each, later slots by column
};

} // namespace

/// A kept block goes behind the kept and the grown ones that are before it in the grid, and so does a grown one.
void Update::merge() {
  auto isKept = [&](Val slot) { return k.compare(Compare::ne, k.load(keep, {slot}), 0); };
  k.launch(1, 1, [&](Val, Val) { store(k.index(0), buffer, k.index(0)); });
  Pieces(nnz).forEachCounted(
      k, 1, [&](Val slot) -> Vals { return {k.select(isKept(slot), k.index(1), k.index(0))}; },
      [&](Val slot, Vals is, Vals before) { store(before[0] + is[0], buffer, slot + 1); });
  auto place = [&](Val at, Val block, Val oldSlot) {
    store(block, blocks, at);
    store(oldSlot, slotMap, at);
  };
  Walk walk{arrays.positions, arrays.coordinates, Value(), rows};
  k.forEachThread(nnz, [&](Val i) {
    k.ifThen(isKept(i), [&] {
      Val block = walk.segmentOf(k, i) * columns + walk.coordinate(k, i);
      // The -1 behind the grown blocks are larger than all of them.
      Val grownBefore =
          lowerBound(k, nnz, 0, nnz, [&](Val g) { return k.compare(Compare::lt, load(grown, g), block); });
      place(load(buffer, i) + grownBefore, block, i);
    });
    Val block = k.load(grown, {i});
    k.ifThen(k.compare(Compare::ne, block, -1), [&] {
      block = k.toIndex(block);
      Val row = block / k.index(columns), column = block % k.index(columns);
      Val slot = lowerBound(k, std::min(columns, nnz), walk.begin(k, row), walk.end(k, row),
                            [&](Val s) { return k.compare(Compare::lt, walk.coordinate(k, s), column); });
      place(load(buffer, slot) + i, block, k.index(-1));
    });
  });
}

void Update::writeRows() {
  k.forEachThread(nnz, [&](Val slot) { store(load(blocks, slot) % k.index(columns), arrays.coordinates, slot); });
  k.forEachThread(rows + 1, [&](Val row) {
    Val first = row * columns;
    store(lowerBound(k, nnz, 0, nnz, [&](Val s) { return k.compare(Compare::lt, load(blocks, s), first); }),
          arrays.positions, row);
  });
}

/// A stable sort of slots, the lowest digit of their columns first: rows ascend within a column.
void Update::sortByColumn() {
  int64_t passes = std::max<int64_t>(1, llvm::divideCeil(llvm::Log2_64_Ceil(columns), radixBits));
  for (int64_t pass = 0; pass < passes; ++pass) {
    bool endsInPlace = (passes - pass) % 2;
    Value to = endsInPlace ? arrays.tPerm : buffer, from = endsInPlace ? buffer : arrays.tPerm;
    sortByDigit(pass * radixBits, pass ? from : Value(), to);
  }
}

/// `from`: none for the slots as they are.
void Update::sortByDigit(int64_t shift, Value from, Value to) {
  Type i32 = k.b.getI32Type();
  Pieces pieces(nnz);
  Value places = k.workspace({pieces.count(), radix}, i32).get();
  auto slotAt = [&](Val i) { return from ? load(from, i) : i; };
  auto digitOf = [&](Val slot) {
    Val column = load(blocks, slot) % k.index(columns);
    return k.bitAnd(k.shiftRight(column, shift), radix - 1);
  };
  auto element = [&](Val i, function_ref<void(Val)> count) { count(digitOf(slotAt(i))); };
  pieces.sumDigits(k, places, element);
  // How often a digit occurs becomes where its first slot goes.
  k.launch(1, radix, [&](Val, Val digit) {
    Value totals = k.shared({radix}, i32);
    auto sumUpTo = [&](Val end, function_ref<Val(Val)> value) {
      return k.loop(0, end, 1, {k.index(0)},
                    [&](Val i, Vals sum) -> Vals { return {sum[0] + k.toIndex(value(i))}; })[0];
    };
    store(sumUpTo(pieces.count(), [&](Val piece) { return k.load(places, {piece, digit}); }), totals, digit);
    k.barrier();
    Val first = sumUpTo(digit, [&](Val d) { return k.load(totals, {d}); });
    k.loop(0, pieces.count(), 1, {first}, [&](Val piece, Vals place) -> Vals {
      Val count = k.toIndex(k.load(places, {piece, digit}));
      k.store(k.fromIndex(place[0], i32), places, {piece, digit});
      return {place[0] + count};
    });
  });
  k.launch(pieces.count(), Pieces::threads, [&](Val piece, Val thread) {
    Value counts = pieces.countDigits(k, piece, thread, element);
    Type i16 = k.b.getI16Type();
    k.loop(thread, radix, Pieces::threads, [&](Val digit) {
      k.loop(0, Pieces::threads, 1, {k.zero(i16)}, [&](Val t, Vals before) -> Vals {
        Val count = k.load(counts, {t, digit});
        k.store(before[0], counts, {t, digit});
        return {before[0] + count};
      });
    });
    k.barrier();
    pieces.loop(k, piece, thread, [&](Val i) {
      Val slot = slotAt(i), digit = digitOf(slot), before = k.load(counts, {thread, digit});
      k.store(before + 1, counts, {thread, digit});
      store(slot, to, k.toIndex(k.load(places, {piece, digit})) + k.toIndex(before));
    });
  });
}

void Update::writeColumns() {
  auto blockAt = [&](Val i) { return load(blocks, load(arrays.tPerm, i)); };
  k.forEachThread(nnz, [&](Val i) { store(blockAt(i) / k.index(columns), arrays.tCoordinates, i); });
  k.forEachThread(columns + 1, [&](Val column) {
    store(lowerBound(k, nnz, 0, nnz,
                     [&](Val i) { return k.compare(Compare::lt, blockAt(i) % k.index(columns), column); }),
          arrays.tPositions, column);
  });
}

LogicalResult smet::emitUpdate(RoutineOp op, GPUBuilder &k) {
  if (op.getInputs().size() != 2 || op.getInits().size() != 6 || op.getWords().size() != 5)
    return failure();
  if (op.getWords()[4] == 0)
    return success();
  Update update(op, k);
  update.merge();
  update.writeRows();
  update.sortByColumn();
  update.writeColumns();
  return success();
}

//===----------------------------------------------------------------------===//
// remap
//===----------------------------------------------------------------------===//

// Through scratch, since blocks run in any order and a slot that moves may be where another one goes.
LogicalResult smet::emitRemap(RoutineOp op, GPUBuilder &k) {
  if (op.getInputs().size() != 1 || op.getInits().size() != 1 || op.getWords().size() != 2)
    return failure();
  Value slotMap = op.getInputs()[0], array = k.flatten(op.getInits()[0]).get();
  int64_t nnz = op.getWords()[0];
  if (!nnz)
    return success();
  auto type = cast<MemRefType>(array.getType());
  Type element = type.getElementType();
  int64_t size = type.getNumElements() / nnz, bytes = type.getElementTypeBitWidth() / 8;
  int64_t lanes = std::gcd(size, widestLoad / bytes), pieces = size / lanes;
  // As integers: a processor that computes on bf16 in f32 makes others of some numbers on the way.
  Type bits = k.b.getIntegerType(type.getElementTypeBitWidth());
  VectorType lane = k.vectorOf(lanes, bits);
  Value scratch = k.workspace({type.getNumElements()}, bits).get();
  auto loadBits = [&](Value from, Val at) {
    auto load = vector::LoadOp::create(k.b, k.loc, lane.clone(cast<MemRefType>(from.getType()).getElementType()), from,
                                       ValueRange{at.get()});
    load.setAlignment(lanes * bytes);
    return k.bitcast(k.wrap(load), bits);
  };
  auto storeBits = [&](Val value, Value to, Val at) {
    Val stored = k.bitcast(value, cast<MemRefType>(to.getType()).getElementType());
    vector::StoreOp::create(k.b, k.loc, stored.get(), to, ValueRange{at.get()}).setAlignment(lanes * bytes);
  };
  /// body(first element, the one that goes there) for what moves; the old slot is -1 where there is none.
  auto forMoved = [&](function_ref<void(Val, Val, Val)> body) {
    k.forEachThread(nnz * pieces, [&](Val i) {
      Val slot = i / k.index(pieces), offset = i % k.index(pieces) * k.index(lanes), old = k.load(slotMap, {slot});
      Val isMoved = k.compare(Compare::ne, old, k.fromIndex(slot, k.b.getI32Type()));
      k.ifThen(isMoved, [&] { body(slot * size + offset, old, k.toIndex(old) * size + offset); });
    });
  };
  forMoved([&](Val at, Val old, Val from) {
    Val value = k.ifElse(
        k.compare(Compare::eq, old, -1), {lane}, [&]() -> Vals { return {k.zero(lane)}; },
        [&]() -> Vals { return {loadBits(array, from)}; })[0];
    storeBits(value, scratch, at);
  });
  forMoved([&](Val at, Val, Val) { storeBits(loadBits(scratch, at), array, at); });
  return success();
}
