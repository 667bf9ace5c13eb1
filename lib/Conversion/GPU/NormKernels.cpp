//===- NormKernels.cpp - rms_norm and its gradient ------------------------===//
//
// A block has 32 tokens. Eight threads with four tokens each are neighbours, so that they load 128 bytes together; 32
// such groups share the features, and their sums meet in shared memory.
//
//===----------------------------------------------------------------------===//
#include "GPUKernel.h"

#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet;

namespace {

constexpr int64_t width = 4, groups = 8, slices = 32, tokensOfBlock = width * groups, threads = groups * slices;

/// A thread's place: its tokens, and the first of its features.
class TokenBlock {
public:
  TokenBlock(GPUBuilder &k, const Activation &x, Val block, Val thread)
      : k(k), x(x), group(thread % k.index(groups)), slice(thread / k.index(groups)) {
    Val first = block * k.index(tokensOfBlock) + group * k.index(width);
    inside = k.compare(KernelBuilder::Compare::lt, first, k.index(x.tokens));
    token = k.min(first, k.index(x.tokens - width)); // those beyond compute what the last ones do, and store nothing
  }

  VectorType vector() const { return k.vectorOf(width, k.b.getF32Type()); }
  Vals loop(Vals inits, function_ref<Vals(Val, Vals)> body) const {
    return k.loop(slice, k.index(x.features), k.index(slices), inits, body);
  }
  /// Sums over all features of what `accumulate` adds for one, token by token.
  Vals sums(unsigned count, function_ref<Vals(Val, Vals)> accumulate) const {
    Vals parts = loop(Vals(count, k.zero(vector())), accumulate), totals;
    Value shared = k.shared({count, slices, tokensOfBlock}, k.b.getF32Type());
    Val lane = group * k.index(width);
    for (auto [i, part] : llvm::enumerate(parts))
      k.storeVector(part, shared, {k.index(i), slice, lane});
    k.barrier();
    for (unsigned i = 0; i < count; ++i)
      totals.push_back(k.loop(0, slices, 1, {k.zero(vector())}, [&](Val s, Vals sum) -> Vals {
        return {sum[0] + k.loadVector(shared, {k.index(i), s, lane}, width)};
      })[0]);
    return totals;
  }
  /// 1 / sqrt(mean(x^2) + eps), from the sum of the squares.
  Val reciprocalNorm(Val squares, double eps) const {
    Val mean = squares * k.real(1.0 / double(x.features), vector());
    return k.real(1, vector()) / k.sqrt(mean + k.real(eps, vector()));
  }

  GPUBuilder &k;
  const Activation &x;
  Val group, slice, token, inside;
};

int64_t blocksOf(const Activation &x) { return llvm::divideCeil(x.tokens, tokensOfBlock); }

struct RMSNormKernel : GPUKernel<nn::RMSNormOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::RMSNormOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX()), y = Activation::of(op.getY());
    if (!x || !y)
      return failure();
    k.launch(k.index(blocksOf(x)), threads, [&](Val block, Val thread) {
      TokenBlock t(k, x, block, thread);
      Vals squares = t.sums(1, [&](Val f, Vals sum) -> Vals {
        Val v = x.load(k, f, t.token, width);
        return {k.fma(v, v, sum[0])};
      });
      Val r = t.reciprocalNorm(squares[0], op.getEps().convertToDouble());
      k.ifThen(t.inside, [&] {
        t.loop({}, [&](Val f, Vals) -> Vals {
          y.store(k, x.load(k, f, t.token, width) * r * k.load(op.getGamma(), {f}), f, t.token);
          return {};
        });
      });
    });
    return success();
  }
};

// dx = r g - x r^3 mean(x g) with g = gamma dy, and the block's share of dgamma[f], the sum of dy x r; then these
// shares, blocks in order.
struct RMSNormGradKernel : GPUKernel<nn::RMSNormGradOp> {
  using GPUKernel::GPUKernel;
  LogicalResult emit(nn::RMSNormGradOp op, GPUBuilder &k) const final {
    Activation x = Activation::of(op.getX()), dy = Activation::of(op.getDy()), dx = Activation::of(op.getDx());
    if (!x || !dy || !dx)
      return failure();
    Type f32 = k.b.getF32Type();
    Value shares = k.workspace({blocksOf(x), x.features}, f32).get();
    k.launch(k.index(blocksOf(x)), threads, [&](Val block, Val thread) {
      TokenBlock t(k, x, block, thread);
      auto g = [&](Val f) { return dy.load(k, f, t.token, width) * k.load(op.getGamma(), {f}); };
      Vals sums = t.sums(2, [&](Val f, Vals sums) -> Vals {
        Val v = x.load(k, f, t.token, width);
        return {k.fma(v, v, sums[0]), k.fma(v, g(f), sums[1])};
      });
      Val r = t.reciprocalNorm(sums[0], op.getEps().convertToDouble());
      Val factor = r * r * r * sums[1] * k.real(1.0 / double(x.features), t.vector());
      // All threads of a warp take part in its sums: those beyond the last feature repeat it.
      k.loop(0, k.index(llvm::divideCeil(x.features, slices)), 1, [&](Val i) {
        Val next = i * k.index(slices) + t.slice, f = k.min(next, k.index(x.features - 1));
        Val isFeature = k.compare(KernelBuilder::Compare::lt, next, k.index(x.features));
        Val isFirst = k.compare(KernelBuilder::Compare::eq, t.group, k.index(0));
        Val v = x.load(k, f, t.token, width), terms = dy.load(k, f, t.token, width) * v * r;
        Val share = k.warpSum(k.select(t.inside, k.sum(terms), k.zero(f32)), groups);
        k.ifThen(k.bitAnd(isFeature, isFirst), [&] { k.store(share, shares, {block, f}); });
        k.ifThen(k.bitAnd(isFeature, t.inside), [&] { dx.store(k, r * g(f) - v * factor, f, t.token); });
      });
    });
    k.forEachThread(x.features, [&](Val f) {
      Val sum = k.loop(0, k.index(blocksOf(x)), 1, {k.zero(f32)}, [&](Val block, Vals sum) -> Vals {
        return {sum[0] + k.load(shares, {block, f})};
      })[0];
      k.store(sum, op.getDgamma(), {f});
    });
    return success();
  }
};

} // namespace

void smet::populateNormGPUKernels(RewritePatternSet &patterns) {
  patterns.add<RMSNormKernel, RMSNormGradKernel>(patterns.getContext());
}
