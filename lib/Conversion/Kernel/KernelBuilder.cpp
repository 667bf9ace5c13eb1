//===- KernelBuilder.cpp - kernels as C++ that reads like loops -----------===//
#include "smet/Conversion/KernelBuilder.h"

#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace smet;

static bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

//===----------------------------------------------------------------------===//
// Constants and conversions
//===----------------------------------------------------------------------===//

static TypedAttr splatOrScalar(Type type, Attribute element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return DenseElementsAttr::get(shaped, element);
  return cast<TypedAttr>(element);
}

Val KernelBuilder::index(int64_t value) { return wrap(arith::ConstantIndexOp::create(b, loc, value)); }

Val KernelBuilder::real(double value, Type type) {
  return wrap(
      arith::ConstantOp::create(b, loc, splatOrScalar(type, b.getFloatAttr(getElementTypeOrSelf(type), value))));
}

Val KernelBuilder::integer(int64_t value, Type type) {
  return wrap(
      arith::ConstantOp::create(b, loc, splatOrScalar(type, b.getIntegerAttr(getElementTypeOrSelf(type), value))));
}

Val KernelBuilder::iota(int64_t lanes, Type element) {
  auto values = llvm::map_to_vector(llvm::seq<int64_t>(0, lanes),
                                    [&](int64_t i) -> Attribute { return b.getIntegerAttr(element, i); });
  return wrap(arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorOf(lanes, element), values)));
}

Val KernelBuilder::zero(Type type) { return isFloat(type) ? real(0, type) : integer(0, type); }

Value KernelBuilder::materialize(Val value, Type like) {
  if (value.isConstant())
    return (isFloat(like) ? real(static_cast<double>(value.constantValue()), like)
                          : integer(value.constantValue(), like))
        .get();
  auto vector = dyn_cast<VectorType>(like);
  if (vector && !isa<VectorType>(value.type()))
    return vector::BroadcastOp::create(b, loc, vector, value.get());
  return value.get();
}

Val KernelBuilder::toIndex(Val value) {
  if (value.isConstant())
    return index(value.constantValue());
  if (value.type().isIndex())
    return value;
  return wrap(arith::IndexCastUIOp::create(b, loc, b.getIndexType(), value.get()));
}

Val KernelBuilder::fromIndex(Val value, Type type) {
  return wrap(arith::IndexCastUIOp::create(b, loc, type, value.get()));
}

Val KernelBuilder::cast(Val value, Type element) {
  Type type = value.type(), from = getElementTypeOrSelf(type);
  if (from == element)
    return value;
  if (auto vector = dyn_cast<VectorType>(type))
    type = vector.clone(element);
  else
    type = element;
  if (!isa<FloatType>(from) && !isa<FloatType>(element)) {
    if (element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
      return wrap(arith::ExtUIOp::create(b, loc, type, value.get()));
    return wrap(arith::TruncIOp::create(b, loc, type, value.get()));
  }
  if (!isa<FloatType>(from))
    return wrap(arith::SIToFPOp::create(b, loc, type, value.get()));
  if (element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
    return wrap(arith::ExtFOp::create(b, loc, type, value.get()));
  return wrap(arith::TruncFOp::create(b, loc, type, value.get()));
}

VectorType KernelBuilder::vectorOf(int64_t lanes, Type element) { return VectorType::get({lanes}, element); }

Val KernelBuilder::broadcast(Val value, int64_t lanes) {
  return wrap(vector::BroadcastOp::create(b, loc, vectorOf(lanes, value.type()), value.get()));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<Value> KernelBuilder::indexValues(ArrayRef<Val> indices) {
  return llvm::map_to_vector(indices, [&](Val value) { return materialize(value, b.getIndexType()); });
}

Val KernelBuilder::size(Value memref, unsigned dim) {
  auto type = mlir::cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return index(type.getDimSize(dim));
  return wrap(memref::DimOp::create(b, loc, memref, dim));
}

static Type elementOf(Value memref) { return mlir::cast<MemRefType>(memref.getType()).getElementType(); }

Val KernelBuilder::bitcast(Val value, Type element) {
  auto vector = dyn_cast<VectorType>(value.type());
  return wrap(arith::BitcastOp::create(b, loc, vector ? Type(vector.clone(element)) : element, value.get()));
}

// By integer operations: they are the same on every processor, and few beside what is computed between load and store.
Val KernelBuilder::fromBF16(Val value) {
  if (!getElementTypeOrSelf(value.type()).isBF16())
    return value;
  Val bits = cast(bitcast(value, b.getI16Type()), b.getI32Type());
  return bitcast(shiftLeft(bits, 16), b.getF32Type());
}

/// Half the distance of two bf16, in the bits of f32: added before the lower half is cut off, it rounds to the nearest.
static constexpr int64_t half = 0x8000;

Val KernelBuilder::round(Val value, Val increment) {
  Val bits = bitcast(value, b.getI32Type());
  // The increment, less than 2^16, leaves inf what it is but could make a number of a NaN. A NaN whose high bits are
  // zero stays one by its quiet bit.
  return select(compare(Compare::eq, value, value), bits + increment, bitOr(bits, integer(0x400000, bits.type())));
}

Val KernelBuilder::toBF16(Val rounded) {
  return bitcast(cast(shiftRight(rounded, 16), b.getI16Type()), b.getBF16Type());
}

Val KernelBuilder::toElement(Val value, Type element) {
  value = wrap(materialize(value, element.isBF16() ? b.getF32Type() : element));
  if (!element.isBF16() || getElementTypeOrSelf(value.type()).isBF16())
    return value;
  return toBF16(round(value, half));
}

template <typename OpT> static void align(OpT op, int64_t alignment) {
  int64_t bytes = op.getVectorType().getNumElements() * op.getVectorType().getElementTypeBitWidth() / 8;
  if (alignment)
    op.setAlignment(std::min<int64_t>(alignment, llvm::bit_floor<uint64_t>(bytes)));
}

void KernelBuilder::storeStochastic(Val value, Val random, Value memref, Vals indices) {
  Val rounded = toBF16(round(value, bitAnd(random, integer(0xffff, random.type()))));
  if (isa<VectorType>(rounded.type()))
    align(vector::StoreOp::create(b, loc, rounded.get(), memref, indexValues(indices)), alignment);
  else
    memref::StoreOp::create(b, loc, rounded.get(), memref, indexValues(indices));
}

Val KernelBuilder::load(Value memref, Vals indices) {
  return fromBF16(wrap(memref::LoadOp::create(b, loc, memref, indexValues(indices))));
}

void KernelBuilder::store(Val value, Value memref, Vals indices) {
  memref::StoreOp::create(b, loc, toElement(value, elementOf(memref)).get(), memref, indexValues(indices));
}

void KernelBuilder::prefetch(Value memref, Vals indices) {
  memref::PrefetchOp::create(b, loc, memref, indexValues(indices), /*isWrite=*/false, /*localityHint=*/2,
                             /*isDataCache=*/true);
}

Val KernelBuilder::loadVector(Value memref, Vals indices, int64_t lanes) {
  auto load = vector::LoadOp::create(b, loc, vectorOf(lanes, elementOf(memref)), memref, indexValues(indices));
  align(load, alignment);
  return fromBF16(wrap(load));
}

void KernelBuilder::storeVector(Val value, Value memref, Vals indices) {
  Value stored = toElement(value, elementOf(memref)).get();
  align(vector::StoreOp::create(b, loc, stored, memref, indexValues(indices)), alignment);
}

std::pair<Val, Val> KernelBuilder::loadPair(Value memref, Vals indices, int64_t lanes) {
  Value both = vector::LoadOp::create(b, loc, vectorOf(2 * lanes, b.getBF16Type()), memref, indexValues(indices));
  Val bits = wrap(vector::BitCastOp::create(b, loc, vectorOf(lanes, b.getI32Type()), both));
  return {bitcast(shiftLeft(bits, 16), b.getF32Type()),
          bitcast(bitAnd(bits, integer(0xffff0000, bits.type())), b.getF32Type())};
}

void KernelBuilder::storePair(Val even, Val odd, Value memref, Vals indices) {
  auto rounded = [&](Val value) { return bitcast(value, b.getI32Type()) + half; };
  Val low = shiftRight(rounded(even), 16), high = rounded(odd);
  Val bits = bitOr(low, bitAnd(high, integer(0xffff0000, high.type())));
  int64_t lanes = mlir::cast<VectorType>(bits.type()).getNumElements();
  Value both = vector::BitCastOp::create(b, loc, vectorOf(2 * lanes, b.getBF16Type()), bits.get());
  vector::StoreOp::create(b, loc, both, memref, indexValues(indices));
}

Val KernelBuilder::loadFirst(Value memref, Val index, Val count, int64_t lanes) {
  VectorType type = vectorOf(lanes, mlir::cast<MemRefType>(memref.getType()).getElementType());
  Value mask = vector::CreateMaskOp::create(b, loc, vectorOf(lanes, b.getI1Type()), indexValues(count));
  return wrap(vector::MaskedLoadOp::create(b, loc, type, memref, indexValues(index), mask, zero(type).get()));
}

void KernelBuilder::storeFirst(Val value, Value memref, Val index, Val count) {
  int64_t lanes = mlir::cast<VectorType>(value.type()).getNumElements();
  Value mask = vector::CreateMaskOp::create(b, loc, vectorOf(lanes, b.getI1Type()), indexValues(count));
  vector::MaskedStoreOp::create(b, loc, memref, indexValues(index), mask, value.get());
}

Val KernelBuilder::flatten(Value memref) {
  int64_t rank = mlir::cast<MemRefType>(memref.getType()).getRank();
  if (rank == 1)
    return wrap(memref);
  if (rank == 0)
    return wrap(memref::ExpandShapeOp::create(
        b, loc, MemRefType::get({1}, mlir::cast<MemRefType>(memref.getType()).getElementType()), memref,
        ArrayRef<ReassociationIndices>{}));
  ReassociationIndices all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  return wrap(memref::CollapseShapeOp::create(b, loc, memref, ArrayRef<ReassociationIndices>(all)));
}

Val KernelBuilder::stack(ArrayRef<int64_t> shape, Type element) {
  return wrap(memref::AllocaOp::create(b, loc, MemRefType::get(shape, element), b.getI64IntegerAttr(64)));
}

Val KernelBuilder::workspace(ArrayRef<int64_t> shape, Type element) {
  return wrap(memref::AllocOp::create(b, loc, MemRefType::get(shape, element)));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

static SmallVector<Value> valuesOf(ArrayRef<Val> vals) {
  return llvm::map_to_vector(vals, [](Val value) { return value.get(); });
}

Vals KernelBuilder::loop(Val begin, Val end, Val step, Vals inits, function_ref<Vals(Val, Vals)> body) {
  Type index = b.getIndexType();
  auto loop = scf::ForOp::create(b, loc, materialize(begin, index), materialize(end, index), materialize(step, index),
                                 valuesOf(inits), [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                   Vals args = llvm::map_to_vector(carried, [&](Value v) { return wrap(v); });
                                   scf::YieldOp::create(b, loc, valuesOf(body(wrap(iv), args)));
                                 });
  return llvm::map_to_vector(loop.getResults(), [&](Value v) { return wrap(v); });
}

void KernelBuilder::loop(Val begin, Val end, Val step, function_ref<void(Val)> body) {
  loop(begin, end, step, {}, [&](Val i, Vals) -> Vals {
    body(i);
    return {};
  });
}

void KernelBuilder::vectorLoop(Val begin, Val end, int64_t lanes, function_ref<void(Val)> body,
                               function_ref<void(Val)> rest) {
  Val full = begin + (end - begin) / lanes * lanes;
  loop(begin, full, lanes, body);
  loop(full, end, 1, rest);
}

void KernelBuilder::parallel(Val n, function_ref<void(Val)> body) {
  Type index = b.getIndexType();
  scf::ParallelOp::create(b, loc, ValueRange{materialize(0, index)}, ValueRange{materialize(n, index)},
                          ValueRange{materialize(1, index)},
                          [&](OpBuilder &, Location, ValueRange ivs) { body(wrap(ivs[0])); });
}

Vals KernelBuilder::ifElse(Val condition, TypeRange types, function_ref<Vals()> then, function_ref<Vals()> otherwise) {
  auto op = scf::IfOp::create(
      b, loc, condition.get(), [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, valuesOf(then())); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, valuesOf(otherwise())); });
  return llvm::map_to_vector(op.getResults(), [&](Value v) { return wrap(v); });
}

void KernelBuilder::ifElse(Val condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto nothing = [](function_ref<void()> body) {
    return [body]() -> Vals {
      body();
      return {};
    };
  };
  ifElse(condition, {}, nothing(then), nothing(otherwise));
}

void KernelBuilder::ifThen(Val condition, function_ref<void()> then) {
  scf::IfOp::create(b, loc, condition.get(), [&](OpBuilder &, Location) {
    then();
    scf::YieldOp::create(b, loc);
  });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

std::pair<Value, Value> KernelBuilder::unify(Val a, Val b) {
  if (a.isConstant() && b.isConstant())
    return {index(a.constantValue()).get(), index(b.constantValue()).get()};
  bool likeB = a.isConstant() || (!b.isConstant() && isa<VectorType>(b.type()));
  Type like = likeB ? b.type() : a.type();
  return {materialize(a, like), materialize(b, like)};
}

// Contraction lets LLVM form FMAs; nothing else may change a result.
#define SMET_BINARY(NAME, FLOAT_OP, INT_OP)                                                                            \
  Val KernelBuilder::NAME(Val left, Val right) {                                                                       \
    auto [x, y] = unify(left, right);                                                                                  \
    if (isFloat(x.getType()))                                                                                          \
      return wrap(FLOAT_OP::create(b, loc, x, y, arith::FastMathFlags::contract));                                     \
    return wrap(INT_OP::create(b, loc, x, y));                                                                         \
  }
SMET_BINARY(add, arith::AddFOp, arith::AddIOp)
SMET_BINARY(sub, arith::SubFOp, arith::SubIOp)
SMET_BINARY(mul, arith::MulFOp, arith::MulIOp)
SMET_BINARY(div, arith::DivFOp, arith::DivUIOp)
SMET_BINARY(rem, arith::RemFOp, arith::RemUIOp)
SMET_BINARY(max, arith::MaximumFOp, arith::MaxUIOp)
SMET_BINARY(min, arith::MinimumFOp, arith::MinUIOp)
#undef SMET_BINARY

Val KernelBuilder::fma(Val left, Val right, Val addend) {
  Type type = addend.type();
  return wrap(math::FmaOp::create(b, loc, materialize(left, type), materialize(right, type), addend.get()));
}

Val KernelBuilder::abs(Val a) { return wrap(math::AbsFOp::create(b, loc, a.get())); }
Val KernelBuilder::neg(Val a) { return wrap(arith::NegFOp::create(b, loc, a.get())); }
Val KernelBuilder::sqrt(Val a) { return wrap(math::SqrtOp::create(b, loc, a.get())); }
Val KernelBuilder::exp(Val a) { return wrap(math::ExpOp::create(b, loc, a.get())); }
Val KernelBuilder::log(Val a) { return wrap(math::LogOp::create(b, loc, a.get())); }

Val KernelBuilder::select(Val condition, Val a, Val other) {
  auto [x, y] = unify(a, other);
  return wrap(arith::SelectOp::create(b, loc, condition.get(), x, y));
}

Val KernelBuilder::compare(Compare predicate, Val a, Val other) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static constexpr I integers[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto [x, y] = unify(a, other);
  unsigned which = static_cast<unsigned>(predicate);
  if (isFloat(x.getType()))
    return wrap(arith::CmpFOp::create(b, loc, floats[which], x, y));
  return wrap(arith::CmpIOp::create(b, loc, integers[which], x, y));
}

Val KernelBuilder::sum(Val vector) {
  return wrap(
      vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, vector.get(), arith::FastMathFlags::reassoc));
}

Val KernelBuilder::maximum(Val vector) {
  return wrap(vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXIMUMF, vector.get()));
}

Val KernelBuilder::all(Val condition) {
  return wrap(vector::ReductionOp::create(b, loc, vector::CombiningKind::AND, condition.get()));
}

Val KernelBuilder::bitAnd(Val a, Val other) {
  auto [x, y] = unify(a, other);
  return wrap(arith::AndIOp::create(b, loc, x, y));
}

Val KernelBuilder::bitOr(Val a, Val other) {
  auto [x, y] = unify(a, other);
  return wrap(arith::OrIOp::create(b, loc, x, y));
}

Val KernelBuilder::bitXor(Val a, Val other) {
  auto [x, y] = unify(a, other);
  return wrap(arith::XOrIOp::create(b, loc, x, y));
}

Val KernelBuilder::shiftLeft(Val a, Val other) {
  auto [x, y] = unify(a, other);
  return wrap(arith::ShLIOp::create(b, loc, x, y));
}

Val KernelBuilder::shiftRight(Val a, Val other) {
  auto [x, y] = unify(a, other);
  return wrap(arith::ShRUIOp::create(b, loc, x, y));
}

Val KernelBuilder::insert(Val value, Val vector, int64_t lane) {
  return wrap(vector::InsertOp::create(b, loc, value.get(), vector.get(), lane));
}

Val KernelBuilder::extract(Val vector, int64_t lane) {
  return wrap(vector::ExtractOp::create(b, loc, vector.get(), ArrayRef<int64_t>{lane}));
}

Val KernelBuilder::shuffle(Val a, Val other, ArrayRef<int64_t> lanes) {
  return wrap(vector::ShuffleOp::create(b, loc, a.get(), other.get(), lanes));
}
