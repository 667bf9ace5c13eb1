//===- NNReference.cpp - nn ops as plain loops ----------------------------===//
//
// Token-major activations [T, F], one obvious loop nest an op, any float type. The formulas are those of NNOps.td.
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"
#include "smet/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cmath>

using namespace mlir;
using namespace smet;

namespace {

using Compare = KernelBuilder::Compare;

bool isTokenMajor(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && type.getRank() == 2 && type.hasStaticShape();
}

/// sum of body(i) over [begin, end)
Val sumOver(KernelBuilder &k, Val begin, Val end, Type type, function_ref<Val(Val)> body) {
  return k.loop(begin, end, 1, {k.zero(type)}, [&](Val i, Vals sum) -> Vals { return {sum[0] + body(i)}; })[0];
}

/// body(i, j) over a matrix.
void forEach(KernelBuilder &k, int64_t rows, int64_t cols, function_ref<void(Val, Val)> body) {
  k.loop(0, rows, 1, [&](Val i) { k.loop(0, cols, 1, [&](Val j) { body(i, j); }); });
}

void fillZero(KernelBuilder &k, Value memref) {
  linalg::FillOp::create(k.b, k.loc, k.zero(elementOf(memref)).get(), memref);
}

/// outs[i] = body(ins[i]) by linalg.generic.
LogicalResult elementwise(KernelBuilder &k, ValueRange ins, ValueRange outs,
                          function_ref<Vals(KernelBuilder &, Vals)> body) {
  int64_t rank = cast<MemRefType>(outs[0].getType()).getRank();
  SmallVector<AffineMap> maps(ins.size() + outs.size(), AffineMap::getMultiDimIdentityMap(rank, k.b.getContext()));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  linalg::GenericOp::create(k.b, k.loc, ins, outs, maps, iterators, [&](OpBuilder &b, Location loc, ValueRange args) {
    KernelBuilder inner(b, loc);
    Vals values;
    for (Value value : args.take_front(ins.size()))
      values.push_back(inner.wrap(value));
    SmallVector<Value> results;
    for (Val value : body(inner, values))
      results.push_back(value.get());
    linalg::YieldOp::create(b, loc, results);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

struct AddReference : KernelPattern<nn::AddOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::AddOp op, KernelBuilder &k) const final {
    return elementwise(k, {op.getA(), op.getB()}, op.getC(),
                       [](KernelBuilder &, Vals in) -> Vals { return {in[0] + in[1]}; });
  }
};

struct FillReference : KernelPattern<nn::FillOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::FillOp op, KernelBuilder &k) const final {
    linalg::FillOp::create(k.b, k.loc, k.real(op.getValue().convertToDouble(), elementOf(op.getX())).get(), op.getX());
    return success();
  }
};

Val sigmoid(KernelBuilder &k, Val x) { return k.real(1, x.type()) / (k.exp(k.neg(x)) + 1); }

struct SiluMulReference : KernelPattern<nn::SiluMulOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::SiluMulOp op, KernelBuilder &k) const final {
    return elementwise(k, {op.getGate(), op.getUp()}, op.getY(),
                       [](KernelBuilder &k, Vals in) -> Vals { return {in[0] * sigmoid(k, in[0]) * in[1]}; });
  }
};

struct SiluMulGradReference : KernelPattern<nn::SiluMulGradOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::SiluMulGradOp op, KernelBuilder &k) const final {
    return elementwise(k, {op.getGate(), op.getUp(), op.getDy()}, {op.getDgate(), op.getDup()},
                       [](KernelBuilder &k, Vals in) -> Vals {
                         Val s = sigmoid(k, in[0]), one = k.real(1, s.type());
                         return {in[2] * in[1] * s * (one + in[0] * (one - s)), in[2] * in[0] * s};
                       });
  }
};

//===----------------------------------------------------------------------===//
// Embedding, norm, rope
//===----------------------------------------------------------------------===//

struct EmbeddingReference : KernelPattern<nn::EmbeddingOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::EmbeddingOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    forEach(k, sizeOf(op.getX(), 0), sizeOf(op.getX(), 1), [&](Val t, Val f) {
      k.store(k.load(op.getTable(), {k.toIndex(k.load(op.getIds(), {t})), f}), op.getX(), {t, f});
    });
    return success();
  }
};

struct EmbeddingGradReference : KernelPattern<nn::EmbeddingGradOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::EmbeddingGradOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getDx()))
      return failure();
    fillZero(k, op.getDtable());
    forEach(k, sizeOf(op.getDx(), 0), sizeOf(op.getDx(), 1), [&](Val t, Val f) {
      Val row = k.toIndex(k.load(op.getIds(), {t}));
      k.store(k.load(op.getDtable(), {row, f}) + k.load(op.getDx(), {t, f}), op.getDtable(), {row, f});
    });
    return success();
  }
};

Val reciprocalNorm(KernelBuilder &k, Value x, Val t, double eps) {
  Type type = elementOf(x);
  int64_t features = sizeOf(x, 1);
  Val sum = sumOver(k, 0, features, type, [&](Val f) { return k.load(x, {t, f}) * k.load(x, {t, f}); });
  return k.real(1, type) / k.sqrt(sum / k.real(features, type) + k.real(eps, type));
}

struct RMSNormReference : KernelPattern<nn::RMSNormOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::RMSNormOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    k.loop(0, sizeOf(op.getX(), 0), 1, [&](Val t) {
      Val r = reciprocalNorm(k, op.getX(), t, op.getEps().convertToDouble());
      k.loop(0, sizeOf(op.getX(), 1), 1, [&](Val f) {
        k.store(k.load(op.getX(), {t, f}) * r * k.load(op.getGamma(), {f}), op.getY(), {t, f});
      });
    });
    return success();
  }
};

struct RMSNormGradReference : KernelPattern<nn::RMSNormGradOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::RMSNormGradOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    Type type = elementOf(op.getX());
    int64_t features = sizeOf(op.getX(), 1);
    fillZero(k, op.getDgamma());
    k.loop(0, sizeOf(op.getX(), 0), 1, [&](Val t) {
      Val r = reciprocalNorm(k, op.getX(), t, op.getEps().convertToDouble());
      auto g = [&](Val f) { return k.load(op.getGamma(), {f}) * k.load(op.getDy(), {t, f}); };
      Val mean = sumOver(k, 0, features, type,
                         [&](Val f) {
                           return k.load(op.getX(), {t, f}) * g(f);
                         }) /
                 k.real(features, type);
      k.loop(0, features, 1, [&](Val f) {
        Val x = k.load(op.getX(), {t, f});
        k.store(r * g(f) - x * r * r * r * mean, op.getDx(), {t, f});
        k.store(k.load(op.getDgamma(), {f}) + k.load(op.getDy(), {t, f}) * x * r, op.getDgamma(), {f});
      });
    });
    return success();
  }
};

/// Rotates every head of row `t` of x into y by the angles of `position` (index), in double.
void rotate(KernelBuilder &k, Value x, Value y, Val t, Val position, int64_t headDim, double theta, bool inverse) {
  Type f64 = k.b.getF64Type(), type = elementOf(x);
  auto toDouble = [&](Val index) {
    Value integer = arith::IndexCastOp::create(k.b, k.loc, k.b.getI64Type(), index.get());
    return k.wrap(arith::UIToFPOp::create(k.b, k.loc, f64, integer));
  };
  k.loop(0, headDim / 2, 1, [&](Val i) {
    Val exponent = toDouble(i) * k.real(-2.0 / headDim, f64);
    Val angle = toDouble(position) * k.wrap(math::PowFOp::create(k.b, k.loc, k.real(theta, f64).get(), exponent.get()));
    Val cosine = k.cast(k.wrap(math::CosOp::create(k.b, k.loc, angle.get())), type);
    Val sine = k.cast(k.wrap(math::SinOp::create(k.b, k.loc, angle.get())), type);
    if (inverse)
      sine = k.neg(sine);
    k.loop(0, sizeOf(x, 1), headDim, [&](Val head) {
      Val low = head + i, high = low + headDim / 2, a = k.load(x, {t, low}), b = k.load(x, {t, high});
      k.store(a * cosine - b * sine, y, {t, low});
      k.store(b * cosine + a * sine, y, {t, high});
    });
  });
}

struct RopeReference : KernelPattern<nn::RopeOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::RopeOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    k.loop(0, sizeOf(op.getX(), 0), 1, [&](Val t) {
      Val position = t % k.index(op.getSeqLen());
      rotate(k, op.getX(), op.getY(), t, position, op.getHeadDim(), op.getTheta().convertToDouble(), op.getInverse());
    });
    return success();
  }
};

struct RopeAtReference : KernelPattern<nn::RopeAtOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::RopeAtOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    rotate(k, op.getX(), op.getY(), k.index(0), k.toIndex(k.load(op.getPosition(), {})), op.getHeadDim(),
           op.getTheta().convertToDouble(), false);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Sizes of an attention and the dot products in it.
struct Heads {
  KernelBuilder &k;
  int64_t heads, kvHeads, headDim;
  Type type;

  Heads(KernelBuilder &k, Value q, int64_t heads, int64_t kvHeads)
      : k(k), heads(heads), kvHeads(kvHeads), headDim(sizeOf(q, 1) / heads), type(elementOf(q)) {}

  Val kvHead(Val head) const { return head / k.index(heads / kvHeads); }
  Val scale() const { return k.real(1 / std::sqrt(static_cast<double>(headDim)), type); }
  /// a[s, head A] . b[t, head B]
  Val dot(Value a, Val s, Val headA, Value b, Val t, Val headB) const {
    return sumOver(k, 0, headDim, type, [&](Val d) {
      return k.load(a, {s, headA * headDim + d}) * k.load(b, {t, headB * headDim + d});
    });
  }
};

struct AttentionReference : KernelPattern<nn::AttentionOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::AttentionOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getQ()))
      return failure();
    Heads h(k, op.getQ(), op.getNumHeads(), op.getNumKvHeads());
    forEach(k, h.heads, sizeOf(op.getQ(), 0), [&](Val head, Val t) {
      Val first = t / k.index(op.getSeqLen()) * k.index(op.getSeqLen()), end = t + 1, kv = h.kvHead(head);
      auto score = [&](Val s) { return h.dot(op.getQ(), t, head, op.getK(), s, kv) * h.scale(); };
      Val top =
          k.loop(first, end, 1, {score(first)}, [&](Val s, Vals top) -> Vals { return {k.max(top[0], score(s))}; })[0];
      Val lse = top + k.log(sumOver(k, first, end, h.type, [&](Val s) { return k.exp(score(s) - top); }));
      k.store(lse, op.getLse(), {head, t});
      k.loop(0, h.headDim, 1, [&](Val d) {
        Val o = sumOver(k, first, end, h.type, [&](Val s) {
          return k.exp(score(s) - lse) * k.load(op.getV(), {s, kv * h.headDim + d});
        });
        k.store(o, op.getO(), {t, head * h.headDim + d});
      });
    });
    return success();
  }
};

struct AttentionGradReference : KernelPattern<nn::AttentionGradOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::AttentionGradOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getQ()))
      return failure();
    Heads h(k, op.getQ(), op.getNumHeads(), op.getNumKvHeads());
    for (Value gradient : {op.getDq(), op.getDk(), op.getDv()})
      fillZero(k, gradient);
    forEach(k, h.heads, sizeOf(op.getQ(), 0), [&](Val head, Val t) {
      Val first = t / k.index(op.getSeqLen()) * k.index(op.getSeqLen()), kv = h.kvHead(head);
      Val lse = k.load(op.getLse(), {head, t}), delta = h.dot(op.getO(), t, head, op.getDo_(), t, head);
      k.loop(first, t + 1, 1, [&](Val s) {
        Val p = k.exp(h.dot(op.getQ(), t, head, op.getK(), s, kv) * h.scale() - lse);
        Val ds = p * (h.dot(op.getDo_(), t, head, op.getV(), s, kv) - delta) * h.scale();
        k.loop(0, h.headDim, 1, [&](Val d) {
          Val own = head * h.headDim + d, shared = kv * h.headDim + d;
          auto add = [&](Value gradient, Val row, Val column, Val value) {
            k.store(k.load(gradient, {row, column}) + value, gradient, {row, column});
          };
          add(op.getDq(), t, own, ds * k.load(op.getK(), {s, shared}));
          add(op.getDk(), s, shared, ds * k.load(op.getQ(), {t, own}));
          add(op.getDv(), s, shared, p * k.load(op.getDo_(), {t, own}));
        });
      });
    });
    return success();
  }
};

struct CachedAttentionReference : KernelPattern<nn::CachedAttentionOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::CachedAttentionOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getQ()))
      return failure();
    Heads h(k, op.getQ(), op.getNumHeads(), op.getNumKvHeads());
    Val position = k.toIndex(k.load(op.getPosition(), {})), end = position + 1, zero = k.index(0);
    k.loop(0, sizeOf(op.getKCache(), 1), 1, [&](Val f) {
      k.store(k.load(op.getK(), {0, f}), op.getKCache(), {position, f});
      k.store(k.load(op.getV(), {0, f}), op.getVCache(), {position, f});
    });
    k.loop(0, h.heads, 1, [&](Val head) {
      Val kv = h.kvHead(head);
      auto score = [&](Val s) { return h.dot(op.getQ(), zero, head, op.getKCache(), s, kv) * h.scale(); };
      Val top = k.loop(0, end, 1, {score(zero)}, [&](Val s, Vals top) -> Vals { return {k.max(top[0], score(s))}; })[0];
      Val sum = sumOver(k, 0, end, h.type, [&](Val s) { return k.exp(score(s) - top); });
      k.loop(0, h.headDim, 1, [&](Val d) {
        Val o = sumOver(k, 0, end, h.type, [&](Val s) {
          return k.exp(score(s) - top) * k.load(op.getVCache(), {s, kv * h.headDim + d});
        });
        k.store(o / sum, op.getO(), {0, head * h.headDim + d});
      });
    });
    return success();
  }
};

struct SelectTokenReference : KernelPattern<nn::SelectTokenOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::SelectTokenOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    Val t = k.toIndex(k.load(op.getIndex(), {}));
    k.loop(0, sizeOf(op.getX(), 1), 1, [&](Val f) { k.store(k.load(op.getX(), {t, f}), op.getY(), {0, f}); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Linear layers and loss
//===----------------------------------------------------------------------===//

/// c[i, j] = sum over l of a[map(i, l)] b[map(l, j)] by linalg.generic; the maps name dims (i, j, l).
LogicalResult matmul(KernelBuilder &k, Value a, ArrayRef<unsigned> dimsA, Value b, ArrayRef<unsigned> dimsB, Value c) {
  MLIRContext *context = k.b.getContext();
  fillZero(k, c);
  AffineMap maps[] = {AffineMap::getMultiDimMapWithTargets(3, dimsA, context),
                      AffineMap::getMultiDimMapWithTargets(3, dimsB, context),
                      AffineMap::getMultiDimMapWithTargets(3, {0, 1}, context)};
  auto parallel = utils::IteratorType::parallel;
  utils::IteratorType iterators[] = {parallel, parallel, utils::IteratorType::reduction};
  linalg::GenericOp::create(k.b, k.loc, ValueRange{a, b}, ValueRange{c}, maps, iterators,
                            [](OpBuilder &b, Location loc, ValueRange args) {
                              Value product = arith::MulFOp::create(b, loc, args[0], args[1]);
                              Value sum = arith::AddFOp::create(b, loc, args[2], product);
                              linalg::YieldOp::create(b, loc, sum);
                            });
  return success();
}

struct LinearReference : KernelPattern<nn::LinearOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::LinearOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    return matmul(k, op.getX(), {0, 2}, op.getW(), {1, 2}, op.getY());
  }
};

struct LinearGradInputReference : KernelPattern<nn::LinearGradInputOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::LinearGradInputOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getDy()))
      return failure();
    return matmul(k, op.getDy(), {0, 2}, op.getW(), {2, 1}, op.getDx());
  }
};

struct LinearGradWeightReference : KernelPattern<nn::LinearGradWeightOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::LinearGradWeightOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    return matmul(k, op.getDy(), {2, 0}, op.getX(), {2, 1}, op.getDw());
  }
};

/// z[t, v], recomputed where it is needed: no [T, V] array exists.
Val logit(KernelBuilder &k, Value x, Value w, Val t, Val v) {
  return sumOver(k, 0, sizeOf(x, 1), elementOf(x), [&](Val f) { return k.load(x, {t, f}) * k.load(w, {v, f}); });
}

/// Whether a target (i32) counts.
Val isValid(KernelBuilder &k, Val target) {
  return k.compare(Compare::lt, target, k.integer(std::numeric_limits<int32_t>::min(), target.type()));
}

/// loss and lse `[T]` of an op with the operands of nn.linear_cross_entropy.
template <typename OpT> void crossEntropy(OpT op, Value lse, KernelBuilder &k) {
  Type type = elementOf(op.getX());
  int64_t vocabulary = sizeOf(op.getW(), 0);
  Value row = k.workspace({vocabulary}, type).get(); // the logits of one token
  Val total = k.loop(0, sizeOf(op.getX(), 0), 1, {k.zero(type)}, [&](Val t, Vals total) -> Vals {
    Val top = k.loop(0, vocabulary, 1, {k.real(-1e30, type)}, [&](Val v, Vals top) -> Vals {
      Val z = logit(k, op.getX(), op.getW(), t, v);
      k.store(z, row, {v});
      return {k.max(top[0], z)};
    })[0];
    Val norm = top + k.log(sumOver(k, 0, vocabulary, type, [&](Val v) { return k.exp(k.load(row, {v}) - top); }));
    k.store(norm, lse, {t});
    Val target = k.load(op.getTargets(), {t});
    return k.ifElse(
        isValid(k, target), type, [&]() -> Vals { return {total[0] + (norm - k.load(row, {k.toIndex(target)}))}; },
        [&]() -> Vals { return {total[0]}; });
  })[0];
  k.store(total / k.cast(k.load(op.getNumValid(), {}), type), op.getLoss(), {});
}

/// dx and dw of an op with the operands of nn.linear_cross_entropy_grad but lse.
template <typename OpT> void crossEntropyGrad(OpT op, Value lse, KernelBuilder &k) {
  Type type = elementOf(op.getX());
  fillZero(k, op.getDx());
  fillZero(k, op.getDw());
  Val unit = k.load(op.getDloss(), {}) / k.cast(k.load(op.getNumValid(), {}), type);
  k.loop(0, sizeOf(op.getX(), 0), 1, [&](Val t) {
    Val target = k.load(op.getTargets(), {t});
    k.ifThen(isValid(k, target), [&] {
      k.loop(0, sizeOf(op.getW(), 0), 1, [&](Val v) {
        Val p = k.exp(logit(k, op.getX(), op.getW(), t, v) - k.load(lse, {t}));
        Val hit = k.select(k.compare(Compare::eq, v, k.toIndex(target)), k.real(1, type), k.real(0, type));
        Val dz = (p - hit) * unit;
        k.loop(0, sizeOf(op.getX(), 1), 1, [&](Val f) {
          k.store(k.load(op.getDx(), {t, f}) + dz * k.load(op.getW(), {v, f}), op.getDx(), {t, f});
          k.store(k.load(op.getDw(), {v, f}) + dz * k.load(op.getX(), {t, f}), op.getDw(), {v, f});
        });
      });
    });
  });
}

struct LinearCrossEntropyReference : KernelPattern<nn::LinearCrossEntropyOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::LinearCrossEntropyOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    crossEntropy(op, op.getLse(), k);
    return success();
  }
};

struct LinearCrossEntropyGradReference : KernelPattern<nn::LinearCrossEntropyGradOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::LinearCrossEntropyGradOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    crossEntropyGrad(op, op.getLse(), k);
    return success();
  }
};

struct LinearCrossEntropyWithGradReference : KernelPattern<nn::LinearCrossEntropyWithGradOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(nn::LinearCrossEntropyWithGradOp op, KernelBuilder &k) const final {
    if (!isTokenMajor(op.getX()))
      return failure();
    Value lse = k.workspace({sizeOf(op.getX(), 0)}, elementOf(op.getX())).get();
    crossEntropy(op, lse, k);
    crossEntropyGrad(op, lse, k);
    return success();
  }
};

} // namespace

void smet::populateNNReference(RewritePatternSet &patterns) {
  patterns.add<AddReference, FillReference, SiluMulReference, SiluMulGradReference, EmbeddingReference,
               EmbeddingGradReference, RMSNormReference, RMSNormGradReference, RopeReference, RopeAtReference,
               AttentionReference, AttentionGradReference, CachedAttentionReference, SelectTokenReference,
               LinearReference, LinearGradInputReference, LinearGradWeightReference, LinearCrossEntropyReference,
               LinearCrossEntropyGradReference, LinearCrossEntropyWithGradReference>(patterns.getContext());
}
