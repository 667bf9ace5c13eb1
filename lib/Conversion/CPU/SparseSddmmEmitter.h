//===- SparseSddmmEmitter.h - sampled products of activations ---*- C++ -*-===//
//
// dW[s] = dyᵀ x at the active slots. The tokens are taken in chunks, in order, and all entries of a walk under each, so
// that activations come from cache: a parallel loop a chunk, over ranges of entries. The kernel inside is a tile of dot
// products: `contiguous` rows, whose results lie side by side in a block, times a few rows of the other side, summed
// lane by lane over the tokens of a chunk and then over lanes by a fixed tree. The side that is read at the walk's
// coordinates is read many times a chunk: from a copy in f32, where it is stored in bf16. What the rows are depends on
// the block:
//
//   R x C   contiguous: columns of the block (x); others: its rows (dy)
//   1 x C   column walk, contiguous: columns of the block (x); others: the rows of several slots (dy)
//   R x 1   row walk, contiguous: rows of the block (dy); others: the columns of several slots (x)
//   1 x 1   row walk, contiguous: the columns of several slots (x); other: the row (dy), kept in registers; where many
//           of the weights are active, DenseSddmm
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_CONVERSION_CPU_SPARSESDDMMEMITTER_H
#define SMET_LIB_CONVERSION_CPU_SPARSESDDMMEMITTER_H

#include "SparseKernelChoice.h"
#include "SparseKernels.h"

#include <memory>

namespace smet {

class DenseSddmm;

/// Where gradients go: the block of entry e is added to the `flat` array from place(e) on.
struct Gradients {
  mlir::Value flat;
  llvm::function_ref<Val(Val)> place;
};

class SddmmEmitter {
public:
  SddmmEmitter(KernelBuilder &k, const CPUTarget &target, TopologyType type, const TopologyArrays &arrays,
               mlir::Value x, mlir::Value dy, Val nnz, const SddmmChoice &choice);
  ~SddmmEmitter();

  /// Adds the gradients of the entries [begin, end) of walk().
  void add(Val begin, Val end, const Gradients &gradients);

  const Walk &walk() const { return order; }

private:
  /// The rows of one activation that belong to a block: `count` rows from a coordinate times `count`.
  struct Side {
    Side(KernelBuilder &k, mlir::Value activation, int64_t count)
        : tokens(k, activation), stored(tokens.flat), count(count) {}
    Tokens tokens; ///< as it is read: the activation, or the copy of a chunk
    Val stored;    ///< the activation, flat
    int64_t count;
    bool isCopied() const { return tokens.flat.get() != stored.get(); }
  };

  void copyChunk(Val tile, Val count);
  Val segmentOf(Val entry);
  void addBlocks(Val begin, Val end, const Gradients &gradients);
  void addSegment(Val segment, Val first, Val last, Val tile, Val count, const Gradients &gradients);
  void addBlock(Val place, Val xOffset, Val dyOffset, Val count, mlir::Value flat);
  void addSlots(Val segment, Val first, Val last, Val tile, Val count, const Gradients &gradients);
  void addSingles(Val begin, Val end, const Gradients &gradients);
  void addRow(Val row, Val first, Val last, Val tile, int64_t tilesHeld, const Gradients &gradients);
  void addGroup(Val entry, int64_t size, Val tile, const Vals &row, const Gradients &gradients);
  void dots(const Tokens &aTokens, const Vals &a, const Tokens &bTokens, const Vals &b, Val count,
            llvm::function_ref<void(int64_t, Val)> done);
  Val sumLanes(Vals vectors);
  void addTo(mlir::Value flat, Val place, Val sums, int64_t width);

  Val offset(const Side &side, Val tile, Val coordinate) {
    Val first = side.isCopied() ? k.index(0) : tile;
    return first * side.tokens.tileSize() + coordinate * (side.count * side.tokens.width);
  }

  KernelBuilder &k;
  SddmmChoice choice;
  bool single, gathers; ///< blocks of one weight; blocks of one row or column
  Walk order;
  Side x, dy;
  int64_t lanes, vectors;
  bool pairs; ///< activations are stored in bf16; sums over tokens may take them in another order
  Val dense;  ///< 1 x 1: whether so many weights are active
  std::unique_ptr<DenseSddmm> denseSddmm; ///< in that case
};

} // namespace smet

#endif // SMET_LIB_CONVERSION_CPU_SPARSESDDMMEMITTER_H
