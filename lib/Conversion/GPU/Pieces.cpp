//===- Pieces.cpp - elements counted in order -----------------------------===//
#include "Pieces.h"

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

// Enough pieces for a large GPU and not many more, since what is counted is kept for each; a thread has so few elements
// that a piece's counts fit 16 bits.
Pieces::Pieces(int64_t n) : n(n) {
  constexpr int64_t wanted = 256, fewest = 32, most = (1 << 16) / threads - 1;
  perThread = std::clamp(llvm::divideCeil(n, wanted * threads), uint64_t(fewest), uint64_t(most));
  theCount = std::max<int64_t>(1, llvm::divideCeil(n, threads * perThread));
}

Vals Pieces::loop(GPUBuilder &k, Val piece, Val thread, Vals inits, function_ref<Vals(Val, Vals)> body) const {
  Val begin = (piece * threads + thread) * perThread;
  return k.loop(begin, k.min(begin + perThread, n), 1, inits, body);
}

void Pieces::loop(GPUBuilder &k, Val piece, Val thread, function_ref<void(Val)> body) const {
  loop(k, piece, thread, {}, [&](Val i, Vals) -> Vals {
    body(i);
    return {};
  });
}

Value Pieces::reduce(GPUBuilder &k, Val identity, function_ref<Val(Val)> value,
                     function_ref<Val(Val, Val)> merge) const {
  Type i64 = k.b.getI64Type();
  Value parts = k.workspace({theCount}, i64).get();
  k.launch(theCount, threads, [&](Val piece, Val thread) {
    Value shared = k.shared({threads}, i64);
    Val own = loop(k, piece, thread, {k.toIndex(identity)},
                   [&](Val i, Vals sum) -> Vals { return {merge(sum[0], value(i))}; })[0];
    k.store(k.fromIndex(own, i64), shared, {thread});
    k.barrier();
    k.ifThen(k.compare(Compare::eq, thread, 0), [&] {
      Val all = k.loop(0, threads, 1, {k.toIndex(identity)},
                       [&](Val t, Vals sum) -> Vals { return {merge(sum[0], k.toIndex(k.load(shared, {t})))}; })[0];
      k.store(k.fromIndex(all, i64), parts, {piece});
    });
  });
  return parts;
}

Val Pieces::merged(GPUBuilder &k, Value parts, Val identity, function_ref<Val(Val, Val)> merge) const {
  return k.loop(0, theCount, 1, {k.toIndex(identity)},
                [&](Val piece, Vals sum) -> Vals { return {merge(sum[0], k.toIndex(k.load(parts, {piece})))}; })[0];
}

void Pieces::forEachCounted(GPUBuilder &k, int64_t classes, function_ref<Vals(Val)> classify,
                            function_ref<void(Val, Vals, Vals)> body) const {
  Type i32 = k.b.getI32Type();
  Value sums = k.workspace({theCount, classes}, i32).get();
  auto zeros = [&] { return Vals(classes, k.index(0)); };
  auto plus = [&](const Vals &a, const Vals &b) {
    Vals sum;
    for (auto [x, y] : llvm::zip_equal(a, b))
      sum.push_back(x + y);
    return sum;
  };
  auto load = [&](Value array, Val i, int64_t c) { return k.toIndex(k.load(array, {i, c})); };
  auto store = [&](const Vals &values, Value array, Val i) {
    for (auto [c, value] : llvm::enumerate(values))
      k.store(k.fromIndex(value, i32), array, {i, int64_t(c)});
  };
  auto countOwn = [&](Val piece, Val thread) {
    return loop(k, piece, thread, zeros(), [&](Val i, Vals sum) -> Vals { return plus(sum, classify(i)); });
  };
  k.launch(theCount, threads, [&](Val piece, Val thread) {
    Value shared = k.shared({threads, classes}, i32);
    store(countOwn(piece, thread), shared, thread);
    k.barrier();
    k.ifThen(k.compare(Compare::lt, thread, classes), [&] {
      Val sum = k.loop(0, threads, 1, {k.index(0)}, [&](Val t, Vals sum) -> Vals {
        return {sum[0] + k.toIndex(k.load(shared, {t, thread}))};
      })[0];
      k.store(k.fromIndex(sum, i32), sums, {piece, thread});
    });
  });
  k.launch(theCount, threads, [&](Val piece, Val thread) {
    Value own = k.shared({threads, classes}, i32), earlier = k.shared({threads, classes}, i32);
    store(countOwn(piece, thread), own, thread);
    // The pieces before this one, some by each thread.
    Vals some = k.loop(thread, piece, threads, zeros(), [&](Val p, Vals sum) -> Vals {
      Vals next;
      for (int64_t c = 0; c < classes; ++c)
        next.push_back(sum[c] + load(sums, p, c));
      return next;
    });
    store(some, earlier, thread);
    k.barrier();
    Vals before = k.loop(0, threads, 1, zeros(), [&](Val t, Vals sum) -> Vals {
      Val isBefore = k.compare(Compare::lt, t, thread);
      Vals next;
      for (int64_t c = 0; c < classes; ++c)
        next.push_back(sum[c] + load(earlier, t, c) + k.select(isBefore, load(own, t, c), 0));
      return next;
    });
    loop(k, piece, thread, before, [&](Val i, Vals before) -> Vals {
      Vals is = classify(i);
      body(i, is, before);
      return plus(before, is);
    });
  });
}

Value Pieces::countDigits(GPUBuilder &k, Val piece, Val thread,
                          function_ref<void(Val, function_ref<void(Val)>)> element) const {
  Type i16 = k.b.getI16Type();
  Value counts = k.shared({threads, radix}, i16);
  k.loop(0, radix, 1, [&](Val digit) { k.store(0, counts, {thread, digit}); });
  loop(k, piece, thread, [&](Val i) {
    element(i, [&](Val digit) { k.store(k.load(counts, {thread, digit}) + 1, counts, {thread, digit}); });
  });
  k.barrier();
  return counts;
}

void Pieces::sumDigits(GPUBuilder &k, Value sums, function_ref<void(Val, function_ref<void(Val)>)> element) const {
  Type i32 = k.b.getI32Type();
  k.launch(theCount, threads, [&](Val piece, Val thread) {
    Value counts = countDigits(k, piece, thread, element);
    k.loop(thread, radix, threads, [&](Val digit) {
      Val sum = k.loop(0, threads, 1, {k.zero(i32)}, [&](Val t, Vals sum) -> Vals {
        return {sum[0] + k.cast(k.load(counts, {t, digit}), i32)};
      })[0];
      k.store(sum, sums, {piece, digit});
    });
  });
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

Selection::Selection(GPUBuilder &k, int64_t n, Keys keys)
    : k(k), pieces(n), keys(std::move(keys)), state(k.workspace({2}, k.b.getI64Type()).get()) {}

void Selection::setCount(Val count) {
  k.store(0, state, {0});
  k.store(k.fromIndex(count, k.b.getI64Type()), state, {1});
}

void Selection::find() {
  Type i32 = k.b.getI32Type(), i64 = k.b.getI64Type();
  Value sums = k.workspace({pieces.count(), radix}, i32).get();
  k.loop(0, keys.bits / radixBits, 1, [&](Val pass) {
    Val shift = k.fromIndex((k.index(keys.bits / radixBits - 1) - pass) * radixBits, i64);
    pieces.sumDigits(k, sums, [&](Val i, function_ref<void(Val)> count) {
      Val key = keys.key(i);
      // Higher digits are those that were chosen, if any were. Two shifts, since by 64 there is none.
      Val unlike = k.shiftRight(k.shiftRight(k.bitXor(key, largest()), shift), radixBits);
      k.ifThen(k.compare(Compare::eq, unlike, 0), [&] {
        auto counted = [&] { count(k.toIndex(k.bitAnd(k.shiftRight(key, shift), radix - 1))); };
        if (keys.isEligible)
          k.ifThen(keys.isEligible(i), counted);
        else
          counted();
      });
    });
    k.launch(1, radix, [&](Val, Val digit) {
      Value shared = k.shared({radix}, i32);
      Val total = k.loop(0, pieces.count(), 1, {k.zero(i32)}, [&](Val piece, Vals sum) -> Vals {
        return {sum[0] + k.load(sums, {piece, digit})};
      })[0];
      k.store(total, shared, {digit});
      k.barrier();
      // The digit up to which there are as many as remain to be taken.
      k.ifThen(k.compare(Compare::eq, digit, 0), [&] {
        Val wanted = remaining(), none = k.index(0);
        Vals found = k.loop(0, radix, 1, {none, none, none}, [&](Val d, Vals last) -> Vals {
          Val upToHere = last[2] + k.toIndex(k.load(shared, {d}));
          Val isMissing = k.compare(Compare::lt, upToHere, wanted);
          return {k.select(isMissing, d + 1, last[0]), k.select(isMissing, upToHere, last[1]), upToHere};
        });
        k.store(k.bitOr(largest(), k.shiftLeft(k.fromIndex(found[0], i64), shift)), state, {0});
        k.store(k.fromIndex(wanted - found[1], i64), state, {1});
      });
    });
  });
}

void Selection::forEach(function_ref<void(Val, Val, Val)> body) {
  auto classify = [&](Val i) -> Vals {
    Val key = keys.key(i), last = largest();
    auto classes = [&]() -> Vals {
      return {k.select(k.compare(Compare::lt, key, last), 1, 0), k.select(k.compare(Compare::eq, key, last), 1, 0)};
    };
    if (!keys.isEligible)
      return classes();
    Type index = k.b.getIndexType();
    auto nothing = [&]() -> Vals { return {k.index(0), k.index(0)}; };
    return k.ifElse(
        k.compare(Compare::le, key, last), {index, index},
        [&] {
          return k.ifElse(keys.isEligible(i), {index, index}, classes, nothing);
        },
        nothing);
  };
  pieces.forEachCounted(k, 2, classify, [&](Val i, Vals is, Vals before) {
    Val equal = k.min(before[1], remaining());
    Val isTaken = k.bitOr(k.compare(Compare::eq, is[0], 1),
                          k.bitAnd(k.compare(Compare::eq, is[1], 1), k.compare(Compare::lt, before[1], remaining())));
    body(i, isTaken, before[0] + equal);
  });
}
