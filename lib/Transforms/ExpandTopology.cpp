//===- ExpandTopology.cpp - topologies become arrays, topology ops routines -===//
//
// populateFunctionOpInterfaceTypeConversionPattern keeps the old list of argument attributes on a 1:N signature, so
// that roles slide onto other arguments (LLVM 22.1.8, silently); hence an own function pattern.
//
//===----------------------------------------------------------------------===//
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Transforms/DialectConversion.h"

namespace smet {
#define GEN_PASS_DEF_EXPANDTOPOLOGYPASS
#include "smet/Transforms/Passes.h.inc"
} // namespace smet

using namespace mlir;
using namespace smet;

namespace {

SmallVector<Value> flatten(ArrayRef<ValueRange> ranges) {
  SmallVector<Value> values;
  for (ValueRange range : ranges)
    llvm::append_range(values, range);
  return values;
}

//===----------------------------------------------------------------------===//
// Functions and dispatches
//===----------------------------------------------------------------------===//

struct ExpandFunction : OpConversionPattern<func::FuncOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(func::FuncOp function, OpAdaptor, ConversionPatternRewriter &rewriter) const final {
    const TypeConverter &converter = *getTypeConverter();
    FunctionType type = function.getFunctionType();
    TypeConverter::SignatureConversion arguments(type.getNumInputs());
    SmallVector<Type> results;
    if (failed(converter.convertSignatureArgs(type.getInputs(), arguments)) ||
        failed(converter.convertTypes(type.getResults(), results)))
      return failure();
    SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
    for (auto [i, input] : llvm::enumerate(type.getInputs()))
      expandAttrs(function.getArgAttrDict(i), input, argumentAttrs);
    for (auto [i, result] : llvm::enumerate(type.getResults()))
      expandAttrs(function.getResultAttrDict(i), result, resultAttrs);
    if (!function.isExternal() && failed(rewriter.convertRegionTypes(&function.getBody(), converter, &arguments)))
      return failure();
    rewriter.modifyOpInPlace(function, [&] {
      function.setType(rewriter.getFunctionType(arguments.getConvertedTypes(), results));
      function.setAllArgAttrs(argumentAttrs);
      function.setAllResultAttrs(resultAttrs);
    });
    return success();
  }

  /// A topology's attributes go to each of its arrays, with the array's name appended to `smet.name`.
  static void expandAttrs(DictionaryAttr attrs, Type type, SmallVectorImpl<DictionaryAttr> &out) {
    if (!attrs)
      attrs = DictionaryAttr::get(type.getContext());
    if (!isa<TopologyType>(type))
      return out.push_back(attrs);
    for (StringRef array : TopologyType::getArrayNames()) {
      NamedAttrList list(attrs);
      if (auto name = attrs.getAs<StringAttr>(names::name))
        list.set(names::name, StringAttr::get(type.getContext(), name.getValue() + "." + array));
      out.push_back(list.getDictionary(type.getContext()));
    }
  }
};

struct ExpandDispatch : OpConversionPattern<DispatchOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(DispatchOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const final {
    auto expanded = DispatchOp::create(rewriter, op.getLoc(), op.getResultTypes(), op.getKernelAttr(),
                                       flatten(adaptor.getInputs()), flatten(adaptor.getInits()), op.getWorkAttr());
    expanded->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, expanded);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Topology ops: operands and words in the order of runtime/program/Abi.h
//===----------------------------------------------------------------------===//

RoutineOp createRoutine(OpBuilder &b, Location loc, StringRef name, ValueRange inputs, ValueRange inits,
                        ArrayRef<int64_t> words) {
  return RoutineOp::create(b, loc, TypeRange(inits), name, inputs, inits, words);
}

/// rows, cols, block_rows, block_cols, nnz, followed by `more`.
SmallVector<int64_t> topologyWords(TopologyType type, ArrayRef<int64_t> more = {}) {
  SmallVector<int64_t> words{type.getRows(), type.getCols(), type.getBlockRows(), type.getBlockCols(), type.getNnz()};
  llvm::append_range(words, more);
  return words;
}

template <typename OpT> struct TopologyPattern : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;
  using Adaptor = typename OpConversionPattern<OpT>::OneToNOpAdaptor;
};

struct LowerInit : TopologyPattern<TopologyInitOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(TopologyInitOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    auto call = createRoutine(rewriter, op.getLoc(), "topology_init", adaptor.getSeed(), adaptor.getDest(),
                              topologyWords(op.getType(), static_cast<int64_t>(op.getLayer())));
    rewriter.replaceOpWithMultiple(op, {call.getResults()});
    return success();
  }
};

struct LowerFromMask : TopologyPattern<FromMaskOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(FromMaskOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    auto call = createRoutine(rewriter, op.getLoc(), "topology_from_mask", adaptor.getMask(), adaptor.getDest(),
                              topologyWords(op.getType()));
    rewriter.replaceOpWithMultiple(op, {call.getResults()});
    return success();
  }
};

struct LowerInitNormal : TopologyPattern<InitNormalOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(InitNormalOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    int64_t layer = op.getLayer(), std = llvm::bit_cast<int64_t>(op.getStd().convertToDouble());
    auto type = cast<RankedTensorType>(op.getType());
    bool isBF16 = type.getElementType().isBF16();
    if (!isBF16 && !type.getElementType().isF32())
      return op.emitError("can fill f32 and bf16 arrays only, got ") << type;
    SmallVector<Value> inputs(adaptor.getSeed());
    SmallVector<int64_t> words{type.getNumElements(), layer, std, isBF16};
    StringRef name = "init_normal_dense";
    if (op.getTopology()) {
      name = "init_normal_sparse";
      llvm::append_range(inputs, adaptor.getTopology().take_front(2)); // positions, coordinates
      words = topologyWords(cast<TopologyType>(op.getTopology().getType()), {layer, std, isBF16});
    }
    rewriter.replaceOp(op, createRoutine(rewriter, op.getLoc(), name, inputs, adaptor.getDest(), words));
    return success();
  }
};

struct LowerFill : TopologyPattern<FillOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(FillOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    auto type = cast<RankedTensorType>(op.getType());
    double value = op.getValue().convertToDouble();
    if (value != 0 && !type.getElementType().isF32())
      return op.emitError("can fill arrays other than f32 with zero only, got ") << value << " for " << type;
    int64_t pattern = llvm::bit_cast<uint32_t>(static_cast<float>(value));
    rewriter.replaceOp(op,
                       createRoutine(rewriter, op.getLoc(), "fill", {}, adaptor.getDest(), {*bytesOf(type), pattern}));
    return success();
  }
};

struct LowerPrune : TopologyPattern<PruneOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(PruneOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    auto type = cast<TopologyType>(op.getTopology().getType());
    Value keep = emptyTensor(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op,
                       createRoutine(rewriter, op.getLoc(), "prune", flatten({adaptor.getScore(), adaptor.getRate()}),
                                     keep, {type.getNnz(), type.getNumBlocks()}));
    return success();
  }
};

struct LowerGrow : TopologyPattern<GrowOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(GrowOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    Value grown = emptyTensor(rewriter, op.getLoc(), op.getType());
    SmallVector<Value> inputs =
        flatten({adaptor.getTopology().take_front(2), adaptor.getKeep(), adaptor.getSeed(), adaptor.getUpdate()});
    SmallVector<int64_t> words =
        topologyWords(cast<TopologyType>(op.getTopology().getType()),
                      {static_cast<int64_t>(op.getLayer()), static_cast<int64_t>(op.getRegrowPruned())});
    rewriter.replaceOp(op, createRoutine(rewriter, op.getLoc(), "grow_random", inputs, grown, words));
    return success();
  }
};

struct LowerUpdate : TopologyPattern<UpdateTopologyOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(UpdateTopologyOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    SmallVector<Value> inits(adaptor.getTopology());
    inits.push_back(emptyTensor(rewriter, op.getLoc(), op.getSlotMap().getType()));
    auto call =
        createRoutine(rewriter, op.getLoc(), "update_topology", flatten({adaptor.getKeep(), adaptor.getGrown()}), inits,
                      topologyWords(cast<TopologyType>(op.getTopology().getType())));
    rewriter.replaceOpWithMultiple(
        op, {call.getResults().take_front(TopologyType::numArrays), call.getResults().take_back(1)});
    return success();
  }
};

struct LowerRemap : TopologyPattern<RemapOp> {
  using TopologyPattern::TopologyPattern;
  LogicalResult matchAndRewrite(RemapOp op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const final {
    auto type = cast<RankedTensorType>(op.getType());
    int64_t nnz = type.getDimSize(0), bytesPerSlot = nnz ? *bytesOf(type) / nnz : 0;
    rewriter.replaceOp(op, createRoutine(rewriter, op.getLoc(), "remap", adaptor.getSlotMap(), adaptor.getArray(),
                                         {nnz, bytesPerSlot}));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// 1:N: a topology is its arrays; pack and unpack where the two meet.
struct TopologyConverter : TypeConverter {
  TopologyConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](TopologyType type, SmallVectorImpl<Type> &out) -> std::optional<LogicalResult> {
      llvm::append_range(out, type.getArrayTypes());
      return success();
    });
    addSourceMaterialization([](OpBuilder &b, TopologyType type, ValueRange arrays, Location loc) -> Value {
      return TopologyPackOp::create(b, loc, type, arrays);
    });
    addTargetMaterialization([](OpBuilder &b, TypeRange types, ValueRange inputs, Location loc) -> SmallVector<Value> {
      if (inputs.size() != 1 || !isa<TopologyType>(inputs[0].getType()))
        return {};
      return TopologyUnpackOp::create(b, loc, types, inputs[0])->getResults();
    });
  }
};

/// Ops that become calls of routines.
template <typename... Ops> struct OpList {
  static bool contains(Operation *op) { return isa<Ops...>(op); }
  static void makeIllegal(ConversionTarget &target) { target.addIllegalOp<Ops...>(); }
};
using TopologyOps =
    OpList<TopologyInitOp, FromMaskOp, InitNormalOp, FillOp, PruneOp, GrowOp, UpdateTopologyOp, RemapOp>;

/// A routine gets its sizes as constants; and only these ops carry topologies over.
LogicalResult checkOp(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  if (TopologyOps::contains(op))
    for (Type type : types) {
      auto topology = dyn_cast<TopologyType>(type);
      if (topology ? ShapedType::isDynamic(topology.getNnz()) : !bytesOf(cast<ShapedType>(type)))
        return op->emitError("smet-expand-topology: a routine takes arrays of numbers of known size, got ") << type;
    }
  bool known = isa<func::ReturnOp, DispatchOp, TopologyPackOp, TopologyUnpackOp, KernelOpInterface>(op) ||
               TopologyOps::contains(op);
  if (!known && llvm::any_of(types, llvm::IsaPred<TopologyType>))
    return op->emitError("smet-expand-topology: '") << op->getName() << "' cannot carry a topology";
  return success();
}

struct ExpandTopologyPass : smet::impl::ExpandTopologyPassBase<ExpandTopologyPass> {
  void runOnOperation() final {
    MLIRContext *context = &getContext();
    auto checked = getOperation().walk([](Operation *op) { return WalkResult(checkOp(op)); });
    if (checked.wasInterrupted())
      return signalPassFailure();
    TopologyConverter converter;
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp function) { return converter.isSignatureLegal(function.getFunctionType()); });
    target.addDynamicallyLegalOp<func::ReturnOp, DispatchOp>([&](Operation *op) { return converter.isLegal(op); });
    TopologyOps::makeIllegal(target);
    RewritePatternSet patterns(context);
    populateReturnOpTypeConversionPattern(patterns, converter);
    patterns.add<ExpandFunction, ExpandDispatch, LowerInit, LowerFromMask, LowerInitNormal, LowerFill, LowerPrune,
                 LowerGrow, LowerUpdate, LowerRemap>(converter, context);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
