//===- SparseKernelAttr.cpp - choices as attributes of ops ----------------===//
#include "SparseKernelAttr.h"

#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"

using namespace mlir;
using namespace smet;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::optional<SparseProblem> smet::problemOf(Operation *op, int64_t tile) {
  if (!isa<SpmmOp, SddmmOp, SddmmAdamOp>(op))
    return std::nullopt;
  // smet.spmm has its values before x.
  auto x = dyn_cast<ShapedType>(op->getOperand(isa<SpmmOp>(op) ? 2 : 1).getType());
  bool isPacked = x && x.hasRank() && x.getRank() == 3;
  if (!isPacked && !(x && x.hasRank() && x.getRank() == 2))
    return std::nullopt;
  int64_t width = isPacked ? x.getDimSize(2) : tile;
  if (width < 1)
    return std::nullopt;
  if (!isPacked && (x.isDynamicDim(0) || x.getDimSize(0) < tile))
    return std::nullopt;
  int64_t count = x.isDynamicDim(0) ? 1 : isPacked ? x.getDimSize(0) : llvm::divideCeil(x.getDimSize(0), width);
  auto type = cast<TopologyType>(op->getOperand(0).getType());
  return SparseProblem{type.getRows(), type.getCols(), type.getBlockRows(),        type.getBlockCols(),
                       width,          count,          x.getElementType().isBF16()};
}

static bool isTransposed(Operation *op) { return cast<SpmmOp>(op).getTranspose(); }

//===----------------------------------------------------------------------===//
// What the emitters and the tuner ask
//===----------------------------------------------------------------------===//

SpmmChoice smet::spmmChoice(Operation *op, const CPUTarget &target) {
  SpmmChoice given;
  if (Attribute attr = op->getDiscardableAttr(names::choice); attr && readChoice(attr, given).empty())
    return given;
  return chooseSpmm(*problemOf(op, /*tile=*/0), isTransposed(op), target);
}

SddmmChoice smet::sddmmChoice(Operation *op, const CPUTarget &target) {
  SddmmChoice given;
  if (Attribute attr = op->getDiscardableAttr(names::choice); attr && readChoice(attr, given).empty())
    return given;
  return chooseSddmm(*problemOf(op, /*tile=*/0), target);
}

static std::string checkChoice(Operation *op, Attribute attr, const CPUTarget &target) {
  auto problem = problemOf(op, /*tile=*/0);
  if (!problem)
    return "the op is no sparse product of packed activations";
  if (isa<SpmmOp>(op)) {
    SpmmChoice choice;
    std::string wrong = readChoice(attr, choice);
    return wrong.empty() ? checkSpmm(choice, *problem, isTransposed(op), target) : wrong;
  }
  SddmmChoice choice;
  std::string wrong = readChoice(attr, choice);
  return wrong.empty() ? checkSddmm(choice, *problem, target) : wrong;
}

LogicalResult smet::checkChoices(Operation *root, const CPUTarget &target) {
  bool good = true;
  root->walk([&](Operation *op) {
    Attribute attr = op->getDiscardableAttr(names::choice);
    std::string wrong = attr ? checkChoice(op, attr, target) : "";
    if (wrong.empty())
      return;
    op->emitOpError("has a ") << names::choice << " that it cannot take: " << wrong;
    good = false;
  });
  return success(good);
}

SmallVector<DictionaryAttr> smet::sparseProductCandidates(Operation *op, const CPUTarget &target, int64_t tile) {
  SmallVector<DictionaryAttr> attributes;
  auto problem = problemOf(op, tile);
  if (!problem)
    return attributes;
  if (isa<SpmmOp>(op))
    for (const SpmmChoice &choice : spmmCandidates(*problem, isTransposed(op), target))
      attributes.push_back(writeChoice(op->getContext(), choice));
  else
    for (const SddmmChoice &choice : sddmmCandidates(*problem, target))
      attributes.push_back(writeChoice(op->getContext(), choice));
  return attributes;
}
