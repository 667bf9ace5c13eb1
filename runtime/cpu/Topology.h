//===- Topology.h - which blocks of a weight are active ---------*- C++ -*-===//
//
// Draws, prunes, grows and carries topologies: the meaning behind the routines of Abi.h, on ordinary views. Everything
// works in memory proportional to the active blocks; nothing is ever as large as the dense matrix. All of it is
// deterministic, whatever the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CPU_TOPOLOGY_H
#define SMET_RUNTIME_CPU_TOPOLOGY_H

#include "runtime/cpu/BF16.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/support/Error.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace smet::rt {

/// An array of block coordinates along an axis: u16 where the axis has at most 65,536 blocks, else u32.
class Coordinates {
public:
  Coordinates(void *data, int64_t axisBlocks) : data(data), narrow(axisBlocks <= 65536) {}

  int64_t operator[](int64_t i) const {
    return narrow ? int64_t(static_cast<uint16_t *>(data)[i]) : int64_t(static_cast<uint32_t *>(data)[i]);
  }
  void set(int64_t i, int64_t value) const {
    if (narrow)
      static_cast<uint16_t *>(data)[i] = uint16_t(value);
    else
      static_cast<uint32_t *>(data)[i] = uint32_t(value);
  }

private:
  void *data;
  bool narrow;
};

/// The blocks [blockRows x blockCols] of a rows x cols matrix, numbered in row-major order.
struct BlockGrid {
  int64_t rows, cols, blockRows, blockCols;

  int64_t rowBlocks() const { return rows / blockRows; }
  int64_t colBlocks() const { return cols / blockCols; }
  int64_t blocks() const { return rowBlocks() * colBlocks(); }
};

/// The active blocks, sorted: a CSR of blocks. A block's place in it is its slot.
struct ActiveBlocks {
  BlockGrid grid;
  int64_t nnz;
  int32_t *positions;      ///< [rowBlocks + 1]
  Coordinates coordinates; ///< [nnz] column blocks

  /// The slot of a block, -1 if it is inactive.
  int64_t slot(int64_t block) const;
};

/// With the walk of the transposed matrix: for each column block the row blocks, ascending, and their slots.
struct Topology : ActiveBlocks {
  int32_t *tPositions;      ///< [colBlocks + 1]
  Coordinates tCoordinates; ///< [nnz] row blocks
  int32_t *tPerm;           ///< [nnz] slots
};

/// Draws exactly nnz blocks, uniformly: those with the smallest random keys.
void initTopology(ThreadPool &pool, const Topology &topology, int64_t seed, int64_t layer);

/// Makes the blocks active in which any element of the rows x cols mask is not zero. Fails, and changes nothing, where
/// these are not nnz blocks.
Status topologyFromMask(std::span<const int8_t> mask, const Topology &topology);

/// keep = 0 at the min(floor(rate * nnz), blocks - nnz) slots with the smallest score, else 1; ties go to the lower
/// slot. Fails on a NaN score and on a rate outside [0, 1].
Status prune(std::span<const float> score, double rate, int64_t blocks, std::span<int8_t> keep);

/// The error of `prune`; `nan`: the first slot whose score is NaN, or -1.
Status checkPrune(double rate, int64_t nan);

/// When a pruned block is drawn again.
struct Growth {
  int64_t seed, layer, update;
  bool regrowPruned; ///< whether blocks pruned in this update may be drawn
};

/// Writes the linear indices of as many inactive blocks as were pruned, ascending, then -1: those with the smallest
/// random keys.
Status growRandom(ThreadPool &pool, const ActiveBlocks &active, std::span<const int8_t> keep, const Growth &growth,
                  std::span<int32_t> grown);

/// Replaces the pruned blocks by the grown ones. slotMap[new slot] = old slot, -1 where regrown. On an error the
/// topology is unchanged.
Status updateTopology(std::span<const int8_t> keep, std::span<const int32_t> grown, const Topology &topology,
                      std::span<int32_t> slotMap);

/// Carries an array through a slot map of updateTopology, in place and without scratch; regrown slots become zero.
Status remap(std::span<const int32_t> slotMap, std::byte *array, int64_t bytesPerSlot);

/// Fills values [nnz][blockRows][blockCols] with N(0, std^2), each keyed by its index in the dense matrix.
void initNormalSparse(ThreadPool &pool, const ActiveBlocks &active, int64_t seed, int64_t layer, double std,
                      float *values);
void initNormalSparse(ThreadPool &pool, const ActiveBlocks &active, int64_t seed, int64_t layer, double std,
                      BF16 *values);
/// The same for all elements of a dense matrix.
void initNormalDense(ThreadPool &pool, int64_t seed, int64_t layer, double std, std::span<float> values);
void initNormalDense(ThreadPool &pool, int64_t seed, int64_t layer, double std, std::span<BF16> values);

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_TOPOLOGY_H
