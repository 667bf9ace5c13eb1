//===- LossKernels.cpp - lm_head and cross-entropy in chunks of tokens ----===//
//
// The logits of a chunk of tokens and the whole vocabulary are in memory at a time. A launch multiplies them, one sums
// up their exponentials in panels of the vocabulary, one joins the panels; for the gradient one makes dz of them in
// place, and two multiply it.
//
//===----------------------------------------------------------------------===//
#include "DenseProduct.h"

#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

namespace {

using Compare = KernelBuilder::Compare;

constexpr int64_t width = 4;                      ///< tokens of a thread
constexpr int64_t groups = 8, slices = 32;        ///< of threads in a block: tokens, rows
constexpr int64_t tokensOfBlock = width * groups; ///< 32
constexpr int64_t panelRows = 1024;

class Loss {
public:
  const Activation x;

  template <typename OpT>
  Loss(OpT op, GPUBuilder &k)
      : x(Activation::of(op.getX())), k(k), f32(k.b.getF32Type()), w(op.getW()), targets(op.getTargets()),
        numValid(op.getNumValid()) {}

  /// The targets are those of all tokens of x, and what is summed over chunks is f32.
  bool valid() const {
    return x && x.tokens == cast<MemRefType>(targets.getType()).getDimSize(0) && isF32(w) &&
           cast<MemRefType>(w.getType()).getNumElements();
  }

  /// Takes scratch, before all that follows; `withSums` if sumUp will be called.
  void begin(bool withSums) {
    vocabulary = cast<MemRefType>(w.getType()).getDimSize(0);
    panels = llvm::divideCeil(vocabulary, panelRows);
    constexpr int64_t logits = 1 << 24; // 64 MiB
    chunk = std::clamp<int64_t>(logits / vocabulary / tokensOfBlock * tokensOfBlock, tokensOfBlock, x.tokens);
    z = k.workspace({vocabulary, chunk}, f32).get();
    if (!withSums)
      return;
    tops = k.workspace({panels, chunk}, f32).get();
    sums = k.workspace({panels, chunk}, f32).get();
    terms = k.workspace({x.tokens}, k.b.getF64Type()).get();
  }
  /// body(first, count) for every chunk of tokens.
  void forChunks(function_ref<void(Val, Val)> body) const {
    if (chunk == x.tokens)
      return body(0, chunk);
    k.loop(0, x.tokens, chunk, [&](Val first) { body(first, k.min(k.index(chunk), k.index(x.tokens) - first)); });
  }

  /// z = w x
  void multiply(Val first, Val count) const {
    denseProduct(k, {DenseMatrix::of(w), /*alongRows=*/true},
                 {DenseMatrix::of(x).slice(first, count), /*alongRows=*/false}, logits(count));
  }

  /// Every token's log-sum-exp to lse [T], and its share of the loss.
  void sumUp(Val first, Val count, Value lse) const {
    sumPanels(count);
    forEachToken(count, [&](Val i) {
      Val top = k.loop(0, panels, 1, {k.load(tops, {0, i})}, [&](Val p, Vals top) -> Vals {
        return {k.max(top[0], k.load(tops, {p, i}))};
      })[0];
      Val sum = k.loop(0, panels, 1, {k.zero(f32)}, [&](Val p, Vals sum) -> Vals {
        return {k.fma(k.load(sums, {p, i}), k.exp(k.load(tops, {p, i}) - top), sum[0])};
      })[0];
      Val token = k.toIndex(first) + i, norm = top + k.log(sum);
      k.store(norm, lse, {token});
      Val target = k.load(targets, {token}), row = k.min(k.toIndex(target), k.index(vocabulary - 1));
      Type f64 = k.b.getF64Type();
      k.store(k.select(isValid(target), k.cast(norm - k.load(z, {row, i}), f64), k.zero(f64)), terms, {token});
    });
  }

  /// The mean over the valid targets: by 256 threads, then these in order.
  void storeLoss(Value loss) const {
    constexpr int64_t threads = 256;
    Type f64 = k.b.getF64Type();
    k.launch(1, threads, [&](Val, Val thread) {
      auto add = [&](Value array, Val from, Val to, int64_t step) {
        return k.loop(from, to, step, {k.zero(f64)},
                      [&](Val i, Vals sum) -> Vals { return {sum[0] + k.load(array, {i})}; })[0];
      };
      Value shares = k.shared({threads}, f64);
      k.store(add(terms, thread, x.tokens, threads), shares, {thread});
      k.barrier();
      k.ifThen(k.compare(Compare::eq, thread, k.index(0)), [&] {
        Val sum = add(shares, 0, threads, 1);
        k.store(k.cast(sum / k.cast(k.load(numValid, {}), f64), f32), loss, {});
      });
    });
  }

  /// dz instead of the logits.
  void differentiate(Val first, Val count, Value lse, Value dloss) const {
    int64_t pieces = chunk / width;
    k.forEachThread(vocabulary * pieces, [&](Val i) {
      Val row = i / k.index(pieces), column = i % k.index(pieces) * k.index(width), token = k.toIndex(first) + column;
      k.ifThen(k.compare(Compare::lt, column, count), [&] {
        Val unit = k.load(dloss, {}) / k.cast(k.load(numValid, {}), f32);
        Val target = k.loadVector(targets, {token}, width);
        Val isTarget = k.compare(Compare::eq, target, k.fromIndex(row, k.b.getI32Type()));
        Val none = k.zero(k.vectorOf(width, f32));
        Val p = k.exp(k.loadVector(z, {row, column}, width) - k.loadVector(lse, {token}, width));
        Val dz = p * unit - k.select(isTarget, k.broadcast(unit, width), none);
        k.storeVector(k.select(isValid(target), dz, none), z, {row, column});
      });
    });
  }

  /// dx of a chunk, and its share of dw.
  void accumulate(Val first, Val count, const Activation &dx, Value dw) const {
    Factor dz{logits(count), /*alongRows=*/false};
    DenseMatrix dws = DenseMatrix::of(dw);
    denseProduct(k, {DenseMatrix::of(w), /*alongRows=*/false}, dz, DenseMatrix::of(dx).slice(first, count));
    denseProduct(k, {logits(count), /*alongRows=*/true}, {DenseMatrix::of(x).slice(first, count), /*alongRows=*/true},
                 [&](Val row, Val column, Val piece) {
                   Val adds = first.isConstant() ? Val() : k.compare(Compare::ne, first, k.index(0));
                   dws.store(k, piece, row, column, adds);
                 });
  }

private:
  DenseMatrix logits(Val count) const { return DenseMatrix::of(z).slice(0, count); }

  /// A scalar or vector of targets that count: the others are negative, so as unsigned numbers large.
  Val isValid(Val target) const {
    return k.compare(Compare::lt, target, k.integer(std::numeric_limits<int32_t>::min(), target.type()));
  }

  void forEachToken(Val count, function_ref<void(Val)> body) const {
    k.forEachThread(chunk, [&](Val i) { k.ifThen(k.compare(Compare::lt, i, count), [&] { body(i); }); });
  }

  /// Maximum, and sum of exponentials below it, of every panel's rows. 32 threads share the rows of a token.
  void sumPanels(Val count) const {
    int64_t across = llvm::divideCeil(chunk, tokensOfBlock);
    k.launch(k.index(panels * across), groups * slices, [&](Val block, Val thread) {
      Val lane = thread % k.index(groups) * k.index(width), slice = thread / k.index(groups);
      Val panel = block / k.index(across), column = block % k.index(across) * k.index(tokensOfBlock) + lane;
      Val inside = k.compare(Compare::lt, column, count), safe = k.min(column, k.toIndex(count) - width);
      Val begin = panel * k.index(panelRows), end = k.min(begin + k.index(panelRows), k.index(vocabulary));
      auto vector = k.vectorOf(width, f32);
      auto overRows = [&](Val init, function_ref<Val(Val, Val)> body) {
        return k.loop(begin + slice, end, slices, {init}, [&](Val row, Vals value) -> Vals {
          return {body(value[0], k.loadVector(z, {row, safe}, width))};
        })[0];
      };
      Val lowest = k.real(-1e30, vector);
      Val top = overRows(lowest, [&](Val top, Val z) { return k.max(top, z); });
      Val sum = overRows(k.zero(vector), [&](Val sum, Val z) { return sum + k.exp(z - top); });
      Value allTops = k.shared({slices, tokensOfBlock}, f32), allSums = k.shared({slices, tokensOfBlock}, f32);
      k.storeVector(top, allTops, {slice, lane});
      k.storeVector(sum, allSums, {slice, lane});
      k.barrier();
      Val isFirst = k.compare(Compare::eq, slice, k.index(0));
      k.ifThen(k.bitAnd(inside, isFirst), [&] {
        auto load = [&](Value array, Val s) { return k.loadVector(array, {s, lane}, width); };
        Val top = k.loop(0, slices, 1, {lowest},
                         [&](Val s, Vals top) -> Vals { return {k.max(top[0], load(allTops, s))}; })[0];
        Val sum = k.loop(0, slices, 1, {k.zero(vector)}, [&](Val s, Vals sum) -> Vals {
          return {k.fma(load(allSums, s), k.exp(load(allTops, s) - top), sum[0])};
        })[0];
        k.storeVector(top, tops, {panel, column});
        k.storeVector(sum, sums, {panel, column});
      });
    });
  }

  GPUBuilder &k;
  Type f32;
  Value w, targets, numValid;
  int64_t vocabulary = 0, panels = 0, chunk = 0; ///< chunk: tokens
  Value z;                                       ///< [vocabulary, chunk]
  Value tops, sums;                              ///< of panels, [panels, chunk]
  Value terms;                                   ///< of the loss, f64 [T]
};

struct LinearCrossEntropyKernel : GPUKernel<nn::LinearCrossEntropyOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyOp op, GPUBuilder &k) const final {
    Loss loss(op, k);
    if (!loss.valid())
      return failure();
    loss.begin(/*withSums=*/true);
    loss.forChunks([&](Val first, Val count) {
      loss.multiply(first, count);
      loss.sumUp(first, count, op.getLse());
    });
    loss.storeLoss(op.getLoss());
    return success();
  }
};

struct LinearCrossEntropyGradKernel : GPUKernel<nn::LinearCrossEntropyGradOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyGradOp op, GPUBuilder &k) const final {
    Loss loss(op, k);
    Activation dx = Activation::of(op.getDx());
    if (!loss.valid() || !dx || !isF32(op.getDw()))
      return failure();
    loss.begin(/*withSums=*/false);
    loss.forChunks([&](Val first, Val count) {
      loss.multiply(first, count);
      loss.differentiate(first, count, op.getLse(), op.getDloss());
      loss.accumulate(first, count, dx, op.getDw());
    });
    return success();
  }
};

struct LinearCrossEntropyWithGradKernel : GPUKernel<nn::LinearCrossEntropyWithGradOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::LinearCrossEntropyWithGradOp op, GPUBuilder &k) const final {
    Loss loss(op, k);
    Activation dx = Activation::of(op.getDx());
    if (!loss.valid() || !dx || !isF32(op.getDw()))
      return failure();
    loss.begin(/*withSums=*/true);
    Value lse = k.workspace({loss.x.tokens}, k.b.getF32Type()).get();
    loss.forChunks([&](Val first, Val count) {
      loss.multiply(first, count);
      loss.sumUp(first, count, lse);
      loss.differentiate(first, count, lse, op.getDloss());
      loss.accumulate(first, count, dx, op.getDw());
    });
    loss.storeLoss(op.getLoss());
    return success();
  }
};

} // namespace

void smet::populateLossGPUKernels(RewritePatternSet &patterns) {
  patterns.add<LinearCrossEntropyKernel, LinearCrossEntropyGradKernel, LinearCrossEntropyWithGradKernel>(
      patterns.getContext());
}
