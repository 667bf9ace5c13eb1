//===- TensorCores.cpp - mma.sync and what feeds it -----------------------===//
#include "TensorCores.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace smet;

using Compare = KernelBuilder::Compare;

/// Elements of bf16 in 16 bytes, which are a row of a matrix of ldmatrix.
static constexpr int64_t pieceWidth = widestLoad / 2;
/// Bytes that all banks of shared memory have in a pass.
static constexpr int64_t bytesPerPass = 128;

bool smet::fitsTensorCores(TopologyType type, ArrayRef<Value> factors, int64_t tokens) {
  auto isBF16 = [](Value factor) { return cast<MemRefType>(factor.getType()).getElementType().isBF16(); };
  return type.getBlockRows() % fragment == 0 && type.getBlockCols() % fragment == 0 && tokens % fragment == 0 &&
         llvm::all_of(factors, isBF16);
}

Val smet::swizzle(GPUBuilder &k, Val row, Val piece, int64_t perRow, int64_t perPass) {
  int64_t rowsPerPass = std::max<int64_t>(perPass / perRow, 1);
  return k.bitXor(piece, row / k.index(rowsPerPass) % k.index(std::min(perRow, perPass)));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

StagedFactor::StagedFactor(GPUBuilder &k, int64_t size, int64_t depth, bool alongDepth)
    : size(size), depth(depth), k(k), alongDepth(alongDepth), rows(alongDepth ? size : depth),
      pieces((alongDepth ? depth : size) / pieceWidth),
      memory(k.shared({numStages, rows, pieces * pieceWidth}, k.b.getBF16Type())) {}

void StagedFactor::fetch(Val stage, Val thread, int64_t threads, Value source, function_ref<Vals(Val, Val)> at) const {
  auto indices = [&](const Vals &values) {
    return llvm::map_to_vector(values, [&](Val v) { return k.toIndex(v).get(); });
  };
  auto fetchPiece = [&](Val i) {
    Val row = i / k.index(pieces), piece = i % k.index(pieces);
    Val place = swizzle(k, row, piece, pieces, bytesPerPass / widestLoad) * k.index(pieceWidth);
    nvgpu::DeviceAsyncCopyOp::create(k.b, k.loc, nvgpu::DeviceAsyncTokenType::get(k.b.getContext()), memory,
                                     indices({stage, row, place}), source,
                                     indices(at(row, piece * k.index(pieceWidth))), k.b.getIndexAttr(pieceWidth),
                                     /*srcElements=*/Value(), /*bypassL1=*/k.b.getUnitAttr());
  };
  for (int64_t first = 0; first < rows * pieces; first += threads) {
    Val i = thread + k.index(first);
    if (first + threads <= rows * pieces)
      fetchPiece(i);
    else
      k.ifThen(k.compare(Compare::lt, i, k.index(rows * pieces)), [&] { fetchPiece(i); });
  }
}

// Lanes 8 i to 8 i + 7 have the rows of matrix i. Transposed, a lane gets a matrix's columns where it would get its
// rows: what the fragment wants where memory is not along the depth.
Vals StagedFactor::load(Val stage, Val at, Val depthAt, Val lane, bool rowsInTurn) const {
  Val row0 = alongDepth ? at : depthAt, column0 = alongDepth ? depthAt : at;
  Val half = k.index(8), inMatrix = lane % half, odd = lane / half % k.index(2), upper = lane / k.index(16);
  Val row = row0 + (rowsInTurn ? odd : upper) * half + inMatrix;
  Val piece = column0 / k.index(pieceWidth) + (rowsInTurn ? upper : odd);
  Val place = swizzle(k, row, piece, pieces, bytesPerPass / widestLoad) * k.index(pieceWidth);
  auto type = VectorType::get({4, 2}, k.b.getBF16Type());
  Value loaded = nvgpu::LdMatrixOp::create(k.b, k.loc, type, memory, ValueRange{stage.get(), row.get(), place.get()},
                                           /*transpose=*/!alongDepth, /*numTiles=*/4);
  Vals words;
  for (int64_t i = 0; i < 4; ++i) {
    Value two = vector::ExtractOp::create(k.b, k.loc, loaded, i);
    words.push_back(k.wrap(LLVM::BitcastOp::create(k.b, k.loc, k.b.getI32Type(), two)));
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// sums += left right, of a fragment: 16 x 8, four a lane.
static void multiplyFragments(GPUBuilder &k, MutableArrayRef<Val> sums, ArrayRef<Val> left, ArrayRef<Val> right) {
  auto values = [](ArrayRef<Val> vals) { return llvm::map_to_vector(vals, [](Val v) { return v.get(); }); };
  Type f32 = k.b.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(k.b.getContext(), {f32, f32, f32, f32});
  using NVVM::MMALayout, NVVM::MMATypes;
  SmallVector<Value> a = values(left), b = values(right), c = values(sums);
  Value product =
      NVVM::MmaOp::create(k.b, k.loc, type, a, b, c, {16, 8, 16}, std::nullopt, std::nullopt,
                          std::array{MMATypes::bf16, MMATypes::bf16}, std::array{MMALayout::row, MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = k.wrap(LLVM::ExtractValueOp::create(k.b, k.loc, product, static_cast<int64_t>(i)));
}

Vals WarpSums::multiply(Vals sums, const StagedFactor &left, Val m0, const StagedFactor &right, Val n0, Val stage,
                        Val depth, int64_t depths, Val lane) const {
  for (int64_t d = 0; d < depths; d += fragment) {
    SmallVector<Vals> columns;
    for (int64_t j = 0; j < n; j += fragment)
      columns.push_back(right.right(stage, n0 + k.index(j), depth + k.index(d), lane));
    Val *next = sums.data();
    for (int64_t i = 0; i < m; i += fragment) {
      Vals row = left.left(stage, m0 + k.index(i), depth + k.index(d), lane);
      for (const Vals &column : columns)
        for (int64_t half : {0, 2}) {
          multiplyFragments(k, MutableArrayRef(next, 4), row, ArrayRef(column).slice(half, 2));
          next += 4;
        }
    }
  }
  return sums;
}

// Lane 4 g + t has rows g and g + 8 of a fragment, of each columns 2 t and 2 t + 1.
void WarpSums::forEachPair(const Vals &sums, Val lane, function_ref<void(Val, Val, Val)> body) const {
  const Val *next = sums.data();
  Val g = lane / k.index(4), twoT = lane % k.index(4) * k.index(2);
  for (int64_t i = 0; i < m; i += 16)
    for (int64_t j = 0; j < n; j += 8)
      for (int64_t lower : {0, 8}) {
        Value two = vector::FromElementsOp::create(k.b, k.loc, k.vectorOf(2, k.b.getF32Type()),
                                                   ValueRange{next[0].get(), next[1].get()});
        body(g + k.index(i + lower), twoT + k.index(j), k.wrap(two));
        next += 2;
      }
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

// The barrier before stage s is read stands behind the reads of stage s - 1, which is asked for again after it: one
// barrier a step is enough. A group is committed in every step, so that all but the last numStages - 2 are those up to
// this step's.
Vals smet::pipeline(GPUBuilder &k, Val steps, Vals inits, const PipelineStep &step) {
  auto stageOf = [&](Val s) { return s % k.index(numStages); };
  auto locate = [&](Val s) { return step.locate(k.min(s, steps - 1)); };
  auto fetch = [&](Val s, const Vals &place) {
    k.ifThen(k.compare(Compare::lt, s, steps), [&] { step.fetch(s, stageOf(s), place); });
    NVVM::CpAsyncCommitGroupOp::create(k.b, k.loc);
  };
  for (int64_t s = 0; s < numStages - 1; ++s)
    fetch(k.index(s), locate(k.index(s)));
  Vals carried = locate(k.index(numStages - 1));
  auto places = static_cast<ptrdiff_t>(carried.size());
  llvm::append_range(carried, inits);
  carried = k.loop(0, steps, 1, carried, [&](Val s, Vals carried) -> Vals {
    NVVM::CpAsyncWaitGroupOp::create(k.b, k.loc, numStages - 2);
    k.barrier();
    Val ahead = s + (numStages - 1);
    fetch(ahead, Vals(carried.begin(), carried.begin() + places));
    Vals next = locate(ahead + 1);
    llvm::append_range(next, step.compute(s, stageOf(s), Vals(carried.begin() + places, carried.end())));
    return next;
  });
  return Vals(carried.begin() + places, carried.end());
}
