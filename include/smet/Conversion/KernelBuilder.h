//===- KernelBuilder.h - kernels as C++ that reads like loops ---*- C++ -*-===//
//
// A small loop builder. `Val` is an SSA value with arithmetic; a scalar meets a vector by broadcast, an integer
// constant takes the type of the other side. The inner loop of SpMM reads
//
//   KernelBuilder k(rewriter, loc);
//   Val sum = k.loop(begin, end, 1, {zero}, [&](Val s, Vals acc) -> Vals {
//     Val column = k.toIndex(k.load(coordinates, {s}));
//     return {k.fma(k.load(values, {s, 0, 0}), k.loadVector(x, {tile, column, 0}, lanes), acc[0])};
//   })[0];
//
//===----------------------------------------------------------------------===//
#ifndef SMET_CONVERSION_KERNELBUILDER_H
#define SMET_CONVERSION_KERNELBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace smet {

class KernelBuilder;

/// A value, or an index constant that materializes where it is used.
class Val {
public:
  Val() = default;
  Val(KernelBuilder &k, mlir::Value value) : builder(&k), value(value) {}
  Val(int64_t constant) : constant(constant) {}
  Val(int constant) : constant(constant) {}

  mlir::Value get() const { return value; }
  mlir::Type type() const { return value.getType(); }
  explicit operator bool() const { return static_cast<bool>(value); }
  bool isConstant() const { return !value; }
  int64_t constantValue() const { return constant; }
  KernelBuilder *owner() const { return builder; }

private:
  KernelBuilder *builder = nullptr;
  mlir::Value value;
  int64_t constant = 0;
};
using Vals = llvm::SmallVector<Val>;

class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc) : b(builder), loc(loc) {}

  Val wrap(mlir::Value value) { return Val(*this, value); }

  //===--- constants and conversions ---===//
  Val index(int64_t value);
  Val real(double value, mlir::Type type);             ///< scalar or splat vector
  Val zero(mlir::Type type);                           ///< scalar or splat vector
  Val integer(int64_t value, mlir::Type type);         ///< scalar or splat vector
  Val iota(int64_t lanes, mlir::Type element);         ///< 0, 1, 2, ...
  mlir::Value materialize(Val value, mlir::Type like); ///< constant of, or broadcast to, `like`
  Val toIndex(Val value);                              ///< i16, i32 (zero-extended), i64 or index to index
  Val fromIndex(Val value, mlir::Type type);           ///< index to i32, i64
  Val cast(Val value, mlir::Type element);             ///< float <-> float, int -> float; shape kept
  Val bitcast(Val value, mlir::Type element);          ///< the same bits; shape kept
  mlir::VectorType vectorOf(int64_t lanes, mlir::Type element);
  Val broadcast(Val value, int64_t lanes);

  //===--- memory: memrefs of any rank; arrays of bf16 are read as f32 and written rounded to nearest ---===//
  Val size(mlir::Value memref, unsigned dim); ///< static sizes fold to constants
  Val load(mlir::Value memref, Vals indices);
  void store(Val value, mlir::Value memref, Vals indices);
  Val loadVector(mlir::Value memref, Vals indices, int64_t lanes);
  void storeVector(Val value, mlir::Value memref, Vals indices);
  /// 2 * lanes elements of an array of bf16 as f32, those of even and those of odd index: half the operations of two
  /// vectors.
  std::pair<Val, Val> loadPair(mlir::Value memref, Vals indices, int64_t lanes);
  /// What is stored must not be a NaN whose lower 15 bits are all that is missing to ones: no arithmetic on numbers
  /// that were bf16 makes such.
  void storePair(Val even, Val odd, mlir::Value memref, Vals indices);
  /// Stores f32 (scalar or vector) to an array of bf16, rounded up with the probability of what the nearest bf16 below
  /// falls short, so that on average no small change is lost. `random` is 32 random bits, of which 16 count. Inf and
  /// NaN stay what they are.
  void storeStochastic(Val value, Val random, mlir::Value memref, Vals indices);
  /// The first `count` of `lanes`; what lies behind is not touched and reads as zero.
  Val loadFirst(mlir::Value memref, Val index, Val count, int64_t lanes);
  void storeFirst(Val value, mlir::Value memref, Val index, Val count);
  void prefetch(mlir::Value memref, Vals indices);                  ///< into the second-level cache
  Val flatten(mlir::Value memref);                                  ///< a view of rank 1
  Val stack(llvm::ArrayRef<int64_t> shape, mlir::Type element);     ///< in a parallel body: on the thread's stack
  Val workspace(llvm::ArrayRef<int64_t> shape, mlir::Type element); ///< at the top of a kernel: hoisted into the arena

  //===--- control ---===//
  /// for (i = begin; i < end; i += step) with loop-carried values; returns their last values.
  Vals loop(Val begin, Val end, Val step, Vals inits, llvm::function_ref<Vals(Val, Vals)> body);
  void loop(Val begin, Val end, Val step, llvm::function_ref<void(Val)> body);
  /// body(i) for i in [begin, end) in steps of `lanes`, then rest(i) one by one.
  void vectorLoop(Val begin, Val end, int64_t lanes, llvm::function_ref<void(Val)> body,
                  llvm::function_ref<void(Val)> rest);
  /// Parallel over [0, n): bodies write disjoint memory. One loop at a time, not nested.
  void parallel(Val n, llvm::function_ref<void(Val)> body);
  Vals ifElse(Val condition, mlir::TypeRange types, llvm::function_ref<Vals()> then,
              llvm::function_ref<Vals()> otherwise);
  void ifElse(Val condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  void ifThen(Val condition, llvm::function_ref<void()> then);

  //===--- arithmetic (scalars, vectors; see the operators below) ---===//
  Val add(Val a, Val b);
  Val sub(Val a, Val b);
  Val mul(Val a, Val b);
  Val div(Val a, Val b); ///< index: unsigned
  Val rem(Val a, Val b); ///< index: unsigned
  Val fma(Val a, Val b, Val c);
  Val max(Val a, Val b);
  Val min(Val a, Val b);
  Val abs(Val a);
  Val neg(Val a);
  Val sqrt(Val a);
  Val exp(Val a); ///< math.exp: a polynomial after smet-expand-math
  Val log(Val a);
  Val select(Val condition, Val a, Val b);
  enum class Compare { eq, ne, lt, le, gt, ge };
  Val compare(Compare predicate, Val a, Val b); ///< index and integers unsigned, floats ordered
  Val sum(Val vector);                          ///< horizontal, lane order tree fixed by the target
  Val maximum(Val vector);                      ///< horizontal
  Val all(Val condition);                       ///< horizontal and, of a vector of i1
  Val bitAnd(Val a, Val b);
  Val bitOr(Val a, Val b);
  Val bitXor(Val a, Val b);
  Val shiftLeft(Val a, Val b);
  Val shiftRight(Val a, Val b); ///< zeros come in
  Val extract(Val vector, int64_t lane);
  Val insert(Val value, Val vector, int64_t lane);
  Val shuffle(Val a, Val b, llvm::ArrayRef<int64_t> lanes); ///< lanes of a, then of b

  mlir::OpBuilder &b;
  mlir::Location loc;
  /// Bytes that vectors in memory are known to be aligned to, where they are as large; 0: as their elements.
  int64_t alignment = 0;

private:
  Val fromBF16(Val value);                      ///< f32 of a bf16; any other value as it is
  Val toElement(Val value, mlir::Type element); ///< what is stored to an array of `element`
  /// The bits of f32 with those of bf16 in the upper half, `increment` added to what will be cut off.
  Val round(Val value, Val increment);
  Val toBF16(Val rounded);
  llvm::SmallVector<mlir::Value> indexValues(llvm::ArrayRef<Val> indices);
  /// Brings two operands to one type.
  std::pair<mlir::Value, mlir::Value> unify(Val a, Val b);
};

inline KernelBuilder &ownerOf(Val a, Val b) { return a.owner() ? *a.owner() : *b.owner(); }
inline Val operator+(Val a, Val b) { return ownerOf(a, b).add(a, b); }
inline Val operator-(Val a, Val b) { return ownerOf(a, b).sub(a, b); }
inline Val operator*(Val a, Val b) { return ownerOf(a, b).mul(a, b); }
inline Val operator/(Val a, Val b) { return ownerOf(a, b).div(a, b); }
inline Val operator%(Val a, Val b) { return ownerOf(a, b).rem(a, b); }

} // namespace smet

#endif // SMET_CONVERSION_KERNELBUILDER_H
