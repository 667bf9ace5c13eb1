//===- Pieces.h - elements counted in order ---------------------*- C++ -*-===//
//
// What selecting, compacting and sorting on a GPU are made of. Blocks have a piece of [0, n) each, its threads
// consecutive elements of that; they count, and a later launch goes over the same elements knowing what was counted
// before them. Order is that of the elements, whatever order threads run in: no atomics.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_GPU_PIECES_H
#define SMET_LIB_CONVERSION_GPU_PIECES_H

#include "GPUKernel.h"

#include <functional>

namespace smet {

/// Digits that keys are sorted and selected by are one of so many.
constexpr int64_t radix = 256, radixBits = 8;

/// [0, n) in pieces.
class Pieces {
public:
  explicit Pieces(int64_t n);

  static constexpr int64_t threads = 64; ///< of a block
  int64_t count() const { return theCount; }
  /// The loop over the elements of a thread.
  Vals loop(GPUBuilder &k, Val piece, Val thread, Vals inits, llvm::function_ref<Vals(Val, Vals)> body) const;
  void loop(GPUBuilder &k, Val piece, Val thread, llvm::function_ref<void(Val)> body) const;

  /// value(0), value(1), ... merged in order, as an index; an array of one such for every piece.
  mlir::Value reduce(GPUBuilder &k, Val identity, llvm::function_ref<Val(Val)> value,
                     llvm::function_ref<Val(Val, Val)> merge) const;
  /// Of the array that `reduce` returned: the whole, on one thread.
  Val merged(GPUBuilder &k, mlir::Value parts, Val identity, llvm::function_ref<Val(Val, Val)> merge) const;

  /// body(i, is, before) for every element: is[c] is 1 or 0 as `classify` says, before[c] the sum of it over all
  /// elements before i. Both are indices; `classify` is evaluated twice.
  void forEachCounted(GPUBuilder &k, int64_t classes, llvm::function_ref<Vals(Val)> classify,
                      llvm::function_ref<void(Val, Vals, Vals)> body) const;

  /// In a launch over the pieces: how often each digit occurs among a thread's elements, as i16 [threads, radix] that
  /// the block shares and all of its threads see. element(i, count) calls count(digit) for those that count.
  mlir::Value countDigits(GPUBuilder &k, Val piece, Val thread,
                          llvm::function_ref<void(Val, llvm::function_ref<void(Val)>)> element) const;
  /// A launch that sums these to [pieces, radix] of i32.
  void sumDigits(GPUBuilder &k, mlir::Value sums,
                 llvm::function_ref<void(Val, llvm::function_ref<void(Val)>)> element) const;

private:
  int64_t n, perThread, theCount;
};

/// The elements among which the smallest are looked for, by keys of 32 or 64 bits (in an i64, unsigned).
struct Keys {
  int64_t bits;
  std::function<Val(Val)> key;
  /// Which elements take part; null: all.
  std::function<Val(Val)> isEligible;
};

/// The k elements with the smallest keys; of equal ones, those that come first.
class Selection {
public:
  Selection(GPUBuilder &k, int64_t n, Keys keys);

  /// In a launch of one thread before `find`. At most as many as there are eligible ones.
  void setCount(Val count);
  /// Finds the largest key that is taken, a digit at a time from the highest.
  void find();
  /// body(i, isTaken, position among those taken) for every element.
  void forEach(llvm::function_ref<void(Val, Val, Val)> body);

private:
  Val largest() { return k.load(state, {0}); }
  Val remaining() { return k.toIndex(k.load(state, {1})); }

  GPUBuilder &k;
  Pieces pieces;
  Keys keys;
  /// The digits of the largest key that are known, and how many elements are to be taken among those that have them.
  mlir::Value state;
};

} // namespace smet

#endif // SMET_LIB_CONVERSION_GPU_PIECES_H
