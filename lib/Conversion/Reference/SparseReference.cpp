//===- SparseReference.cpp - smet ops through sparse_tensor ---------------===//
//
// SpMM is linalg on an assembled sparse tensor in the 4-d form [N/R, K/C, R, C] (dense, compressed, dense, dense): the
// 2-d form with floordiv rejects block sides of 1. The transposed product walks the same storage and scatters, so it
// needs no t_* array. Upstream's sparsifier has no safe form of SDDMM (one crashes, another accumulates or
// overwrites by format), so SDDMM and the optimizer walk the storage through sparse_tensor.positions and coordinates.
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"

using namespace mlir;
using namespace smet;

namespace {

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

Value toTensor(KernelBuilder &k, Value memref, bool writable = false) {
  auto type = cast<MemRefType>(memref.getType());
  return bufferization::ToTensorOp::create(k.b, k.loc, RankedTensorType::get(type.getShape(), type.getElementType()),
                                           memref, /*restrict=*/true, writable);
}

/// A masked weight as sparse_tensor storage.
struct Weight {
  TopologyType type;
  TopologyPackOp pack;

  static FailureOr<Weight> of(Value topology) {
    auto pack = topology.getDefiningOp<TopologyPackOp>();
    if (!pack || !isa<MemRefType>(pack.getArrays()[0].getType()))
      return failure();
    return Weight{cast<TopologyType>(topology.getType()), pack};
  }

  /// tensor<N/R x K/C x R x C> of the given values.
  Value assemble(KernelBuilder &k, Value values) {
    MLIRContext *context = k.b.getContext();
    using namespace sparse_tensor;
    Type coordinate = elementOf(pack.getArrays()[1]);
    auto dense = *buildLevelType(LevelFormat::Dense, true, true);
    auto compressed = *buildLevelType(LevelFormat::Compressed, true, true);
    auto encoding = SparseTensorEncodingAttr::get(context, {dense, compressed, dense, dense},
                                                  AffineMap::getMultiDimIdentityMap(4, context), AffineMap(),
                                                  /*posWidth=*/32, coordinate.getIntOrFloatBitWidth());
    auto tensor =
        RankedTensorType::get({type.getRowBlocks(), type.getColBlocks(), type.getBlockRows(), type.getBlockCols()},
                              elementOf(values), encoding);
    Value positions = toTensor(k, pack.getArrays()[0]), coordinates = toTensor(k, pack.getArrays()[1]);
    return AssembleOp::create(k.b, k.loc, tensor, ValueRange{positions, coordinates}, toTensor(k, values));
  }

  /// body(slot, row block, column block) in slot order, reading the storage of the values.
  void forEachSlot(KernelBuilder &k, Value values, function_ref<void(Val, Val, Val)> body) {
    Value tensor = assemble(k, values);
    Value positions = sparse_tensor::ToPositionsOp::create(k.b, k.loc, tensor, 1);
    Value coordinates = sparse_tensor::ToCoordinatesOp::create(k.b, k.loc, tensor, 1);
    k.loop(0, type.getRowBlocks(), 1, [&](Val row) {
      Val begin = k.toIndex(k.load(positions, {row})), end = k.toIndex(k.load(positions, {row + 1}));
      k.loop(begin, end, 1, [&](Val slot) { body(slot, row, k.toIndex(k.load(coordinates, {slot}))); });
    });
  }

  void forEachElement(KernelBuilder &k, function_ref<void(Val, Val)> body) {
    k.loop(0, type.getBlockRows(), 1, [&](Val r) { k.loop(0, type.getBlockCols(), 1, [&](Val c) { body(r, c); }); });
  }
};

//===----------------------------------------------------------------------===//
// SpMM and SDDMM
//===----------------------------------------------------------------------===//

/// [T, rows] as [T, rows / block, block].
Value splitFeatures(KernelBuilder &k, Value memref, int64_t block) {
  int64_t tokens = sizeOf(memref, 0), features = sizeOf(memref, 1);
  return memref::ExpandShapeOp::create(k.b, k.loc, ArrayRef<int64_t>{tokens, features / block, block}, memref,
                                       ArrayRef<ReassociationIndices>{{0}, {1, 2}});
}

struct SpmmReference : KernelPattern<SpmmOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(SpmmOp op, KernelBuilder &k) const final {
    auto weight = Weight::of(op.getTopology());
    if (failed(weight) || cast<MemRefType>(op.getX().getType()).getRank() != 2)
      return failure();
    TopologyType type = weight->type;
    bool transpose = op.getTranspose();
    Type element = elementOf(op.getY());
    int64_t inner = transpose ? type.getBlockRows() : type.getBlockCols();
    int64_t outer = transpose ? type.getBlockCols() : type.getBlockRows();
    Value target = splitFeatures(k, op.getY(), outer);
    if (!op.getAccumulate())
      linalg::FillOp::create(k.b, k.loc, k.zero(element).get(), target);
    Value w = weight->assemble(k, op.getValues());
    Value x = toTensor(k, splitFeatures(k, op.getX(), inner)), y = toTensor(k, target, /*writable=*/true);
    // i, j: row and column block; r, c: inside the block; t: token.
    MLIRContext *context = k.b.getContext();
    AffineExpr i, j, r, c, t;
    bindDims(context, i, j, r, c, t);
    SmallVector<AffineExpr> rows{t, i, r}, cols{t, j, c};
    AffineMap maps[] = {AffineMap::get(5, 0, {i, j, r, c}, context),
                        AffineMap::get(5, 0, transpose ? rows : cols, context),
                        AffineMap::get(5, 0, transpose ? cols : rows, context)};
    auto parallel = utils::IteratorType::parallel, reduction = utils::IteratorType::reduction;
    auto row = transpose ? reduction : parallel, column = transpose ? parallel : reduction;
    utils::IteratorType iterators[] = {row, column, row, column, parallel};
    auto product = linalg::GenericOp::create(k.b, k.loc, y.getType(), ValueRange{w, x}, ValueRange{y}, maps, iterators,
                                             [](OpBuilder &b, Location loc, ValueRange args) {
                                               Value m = arith::MulFOp::create(b, loc, args[0], args[1]);
                                               Value sum = arith::AddFOp::create(b, loc, args[2], m);
                                               linalg::YieldOp::create(b, loc, sum);
                                             });
    bufferization::MaterializeInDestinationOp::create(k.b, k.loc, Type(), product.getResult(0), target,
                                                      /*restrict=*/true, /*writable=*/true);
    return success();
  }
};

/// sum over t of dy[t, i R + r] x[t, j C + c]
Val sampledProduct(KernelBuilder &k, TopologyType type, Value x, Value dy, Val i, Val j, Val r, Val c) {
  Val row = i * type.getBlockRows() + r, column = j * type.getBlockCols() + c;
  return k.loop(0, sizeOf(x, 0), 1, {k.zero(elementOf(x))}, [&](Val t, Vals sum) -> Vals {
    return {sum[0] + k.load(dy, {t, row}) * k.load(x, {t, column})};
  })[0];
}

struct SddmmReference : KernelPattern<SddmmOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(SddmmOp op, KernelBuilder &k) const final {
    auto weight = Weight::of(op.getTopology());
    if (failed(weight) || cast<MemRefType>(op.getX().getType()).getRank() != 2)
      return failure();
    weight->forEachSlot(k, op.getDvalues(), [&](Val slot, Val i, Val j) {
      weight->forEachElement(k, [&](Val r, Val c) {
        Val sum = sampledProduct(k, weight->type, op.getX(), op.getDy(), i, j, r, c);
        if (op.getAccumulate())
          sum = k.load(op.getDvalues(), {slot, r, c}) + sum;
        k.store(sum, op.getDvalues(), {slot, r, c});
      });
    });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Optimizer: the formula of smet.adam_step
//===----------------------------------------------------------------------===//

/// The step of one parameter or block: bias corrections and learning rate, in double.
struct Adam {
  KernelBuilder &k;
  AdamWAttr rule;
  Type element;
  Val correction1, correction2, rate;

  Val real(double value) const { return k.real(value, element); }
  Val f64(double value) const { return k.real(value, k.b.getF64Type()); }

  /// `age`: index, counts from 1.
  Adam(KernelBuilder &k, AdamWAttr rule, Type element, Val age, Val rate) : k(k), rule(rule), element(element) {
    auto correction = [&](double beta) {
      Val power = k.wrap(math::PowFOp::create(k.b, k.loc, f64(beta).get(), toDouble(k, age).get()));
      return k.cast(f64(1) - power, element);
    };
    correction1 = correction(rule.getBeta1().value);
    correction2 = correction(rule.getBeta2().value);
    this->rate = k.cast(rate, element);
  }

  static Val toDouble(KernelBuilder &k, Val index) {
    Value integer = arith::IndexCastOp::create(k.b, k.loc, k.b.getI64Type(), index.get());
    return k.wrap(arith::UIToFPOp::create(k.b, k.loc, k.b.getF64Type(), integer));
  }

  void update(Val g, Value w, Value m, Value v, Vals at) const {
    double beta1 = rule.getBeta1().value, beta2 = rule.getBeta2().value;
    Val newM = real(beta1) * k.load(m, at) + real(1 - beta1) * g;
    Val newV = real(beta2) * k.load(v, at) + real(1 - beta2) * g * g;
    Val step = (newM / correction1) / (k.sqrt(newV / correction2) + real(rule.getEps().value));
    Val old = k.load(w, at);
    k.store(newM, m, at);
    k.store(newV, v, at);
    k.store(old - rate * (step + real(rule.getWeightDecay().value) * old), w, at);
  }
};

/// For every slot: ages it and gives the element rule of its block to `body`.
template <typename OpT>
LogicalResult adamOnSlots(OpT op, KernelBuilder &k, function_ref<Val(Weight &, Val, Val, Val, Val, Val)> gradient) {
  auto weight = Weight::of(op.getTopology());
  if (failed(weight))
    return failure();
  AdamWAttr rule = op.getAdamw();
  Type f64 = k.b.getF64Type();
  Val step = k.toIndex(k.load(op.getStep(), {})), lr = k.cast(k.load(op.getLr(), {}), f64);
  if (rule.getLrScaling()) {
    Val nnz = Adam::toDouble(k, k.toIndex(k.size(op.getValues(), 0)));
    lr = lr / k.sqrt(nnz / k.real(weight->type.getNumBlocks(), f64));
  }
  weight->forEachSlot(k, op.getValues(), [&](Val slot, Val i, Val j) {
    Val age = k.min(k.toIndex(k.load(op.getAge(), {slot})) + 1, k.index(65535));
    Value narrow = arith::IndexCastOp::create(k.b, k.loc, k.b.getIntegerType(16), age.get());
    k.store(k.wrap(narrow), op.getAge(), {slot});
    Val rate = lr;
    if (rule.getWarmupUpdates() > 1) {
      Val warm = k.min(Adam::toDouble(k, age) / k.real(rule.getWarmupUpdates(), f64), k.real(1, f64));
      rate = lr * k.select(k.compare(KernelBuilder::Compare::eq, age, step), k.real(1, f64), warm);
    }
    Adam adam(k, rule, elementOf(op.getValues()), age, rate);
    weight->forEachElement(k, [&](Val r, Val c) {
      adam.update(gradient(*weight, slot, i, j, r, c), op.getValues(), op.getM(), op.getV(), {slot, r, c});
    });
  });
  return success();
}

struct AdamStepReference : KernelPattern<AdamStepOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(AdamStepOp op, KernelBuilder &k) const final {
    return adamOnSlots(op, k, [&](Weight &, Val slot, Val, Val, Val r, Val c) {
      return k.load(op.getGrad(), {slot, r, c});
    });
  }
};

struct SddmmAdamReference : KernelPattern<SddmmAdamOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(SddmmAdamOp op, KernelBuilder &k) const final {
    if (cast<MemRefType>(op.getX().getType()).getRank() != 2)
      return failure();
    return adamOnSlots(op, k, [&](Weight &weight, Val, Val i, Val j, Val r, Val c) {
      return sampledProduct(k, weight.type, op.getX(), op.getDy(), i, j, r, c);
    });
  }
};

/// body(indices) for every element.
void forEachIndex(KernelBuilder &k, Value memref, function_ref<void(Vals)> body, Vals indices = {}) {
  if (indices.size() == size_t(cast<MemRefType>(memref.getType()).getRank()))
    return body(indices);
  k.loop(0, k.size(memref, indices.size()), 1, [&](Val i) {
    Vals more = indices;
    more.push_back(i);
    forEachIndex(k, memref, body, more);
  });
}

struct DenseAdamStepReference : KernelPattern<DenseAdamStepOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(DenseAdamStepOp op, KernelBuilder &k) const final {
    Val step = k.toIndex(k.load(op.getStep(), {})), lr = k.cast(k.load(op.getLr(), {}), k.b.getF64Type());
    Adam adam(k, op.getAdamw(), elementOf(op.getW()), step, lr);
    forEachIndex(k, op.getW(),
                 [&](Vals at) { adam.update(k.load(op.getGrad(), at), op.getW(), op.getM(), op.getV(), at); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Score, export, import
//===----------------------------------------------------------------------===//

struct ScoreReference : KernelPattern<ScoreOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(ScoreOp op, KernelBuilder &k) const final {
    Value values = op.getValues();
    k.loop(0, k.size(values, 0), 1, [&](Val slot) {
      Val zero = k.zero(elementOf(values));
      Val sum = k.loop(0, sizeOf(values, 1), 1, {zero}, [&](Val r, Vals sum) -> Vals {
        return k.loop(0, sizeOf(values, 2), 1, sum, [&](Val c, Vals sum) -> Vals {
          return {sum[0] + k.abs(k.load(values, {slot, r, c}))};
        });
      })[0];
      k.store(sum, op.getScore(), {slot});
    });
    return success();
  }
};

struct ToDenseReference : KernelPattern<ToDenseOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(ToDenseOp op, KernelBuilder &k) const final {
    auto weight = Weight::of(op.getTopology());
    if (failed(weight))
      return failure();
    linalg::FillOp::create(k.b, k.loc, k.zero(elementOf(op.getDense())).get(), op.getDense());
    weight->forEachSlot(k, op.getValues(), [&](Val slot, Val i, Val j) {
      weight->forEachElement(k, [&](Val r, Val c) {
        k.store(k.load(op.getValues(), {slot, r, c}), op.getDense(),
                {i * weight->type.getBlockRows() + r, j * weight->type.getBlockCols() + c});
      });
    });
    return success();
  }
};

struct FromDenseReference : KernelPattern<FromDenseOp> {
  using KernelPattern::KernelPattern;
  LogicalResult emit(FromDenseOp op, KernelBuilder &k) const final {
    auto weight = Weight::of(op.getTopology());
    if (failed(weight))
      return failure();
    weight->forEachSlot(k, op.getValues(), [&](Val slot, Val i, Val j) {
      weight->forEachElement(k, [&](Val r, Val c) {
        k.store(k.load(op.getDense(), {i * weight->type.getBlockRows() + r, j * weight->type.getBlockCols() + c}),
                op.getValues(), {slot, r, c});
      });
    });
    return success();
  }
};

} // namespace

void smet::populateSparseReference(RewritePatternSet &patterns) {
  patterns.add<SpmmReference, SddmmReference, AdamStepReference, SddmmAdamReference, DenseAdamStepReference,
               ScoreReference, ToDenseReference, FromDenseReference>(patterns.getContext());
}
