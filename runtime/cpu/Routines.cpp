//===- Routines.cpp -------------------------------------------------------===//

#include "runtime/cpu/Routines.h"

#include "runtime/cpu/Context.h"
#include "runtime/cpu/Topology.h"
#include "runtime/support/PageMap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <span>

namespace smet::rt {
namespace {

/// Reads a routine's table from front to back.
class Arguments {
public:
  /// `host` is where the arrays are, `arena` where the numbers are.
  Arguments(smet_context *context, char *arena, char *host, const int64_t *table)
      : pool(Context::of(context).pool()), context(context), arena(arena), host(host), at(table) {}

  template <typename T> T *array() { return reinterpret_cast<T *>(host + *at++); }
  void *untyped() { return array<char>(); }
  template <typename T> T scalar() {
    T value;
    context->read(context, &value, arena + *at++, sizeof(T));
    return value;
  }
  int64_t word() { return *at++; }
  double real() { return std::bit_cast<double>(word()); }
  BlockGrid grid() {
    int64_t rows = word(), cols = word(), blockRows = word(), blockCols = word();
    return {rows, cols, blockRows, blockCols};
  }

  ThreadPool &pool;

private:
  smet_context *context;
  char *arena, *host;
  const int64_t *at;
};

/// The arrays of a topology come before the words that say how wide they are.
struct ActiveArrays {
  explicit ActiveArrays(Arguments &in) : positions(in.array<int32_t>()), coordinates(in.untyped()) {}
  ActiveBlocks with(const BlockGrid &grid, int64_t nnz) const {
    return {grid, nnz, positions, Coordinates(coordinates, grid.colBlocks())};
  }

  int32_t *positions;
  void *coordinates;
};

struct TopologyArrays : ActiveArrays {
  explicit TopologyArrays(Arguments &in)
      : ActiveArrays(in), tPositions(in.array<int32_t>()), tCoordinates(in.untyped()), tPerm(in.array<int32_t>()) {}
  Topology with(const BlockGrid &grid, int64_t nnz) const {
    return {ActiveArrays::with(grid, nnz), tPositions, Coordinates(tCoordinates, grid.rowBlocks()), tPerm};
  }

  int32_t *tPositions;
  void *tCoordinates;
  int32_t *tPerm;
};

Status runTopologyInit(Arguments in) {
  auto seed = in.scalar<int64_t>();
  TopologyArrays arrays(in);
  BlockGrid grid = in.grid();
  int64_t nnz = in.word(), layer = in.word();
  initTopology(in.pool, arrays.with(grid, nnz), seed, layer);
  return {};
}

Status runTopologyFromMask(Arguments in) {
  auto *mask = in.array<int8_t>();
  TopologyArrays arrays(in);
  BlockGrid grid = in.grid();
  int64_t nnz = in.word();
  return topologyFromMask({mask, size_t(grid.rows * grid.cols)}, arrays.with(grid, nnz));
}

Status runInitNormalSparse(Arguments in) {
  auto seed = in.scalar<int64_t>();
  ActiveArrays arrays(in);
  auto *values = in.array<char>();
  BlockGrid grid = in.grid();
  int64_t nnz = in.word(), layer = in.word();
  double std = in.real();
  if (in.word())
    initNormalSparse(in.pool, arrays.with(grid, nnz), seed, layer, std, reinterpret_cast<BF16 *>(values));
  else
    initNormalSparse(in.pool, arrays.with(grid, nnz), seed, layer, std, reinterpret_cast<float *>(values));
  return {};
}

Status runInitNormalDense(Arguments in) {
  auto seed = in.scalar<int64_t>();
  auto *values = in.array<char>();
  auto count = size_t(in.word());
  int64_t layer = in.word();
  double std = in.real();
  if (in.word())
    initNormalDense(in.pool, seed, layer, std, std::span(reinterpret_cast<BF16 *>(values), count));
  else
    initNormalDense(in.pool, seed, layer, std, std::span(reinterpret_cast<float *>(values), count));
  return {};
}

void fill(ThreadPool &pool, std::span<char> bytes, uint32_t pattern) {
  auto *words = reinterpret_cast<uint32_t *>(bytes.data());
  size_t count = bytes.size() / 4;
  pool.parallelFor(int64_t(count), [&](int64_t begin, int64_t end) { std::fill(words + begin, words + end, pattern); });
  std::memcpy(words + count, &pattern, bytes.size() % 4);
}

/// Zeros are written only where something else may be: moments that nothing has touched cost no time at the start.
Status runFill(Arguments in) {
  char *array = in.array<char>();
  std::span bytes(array, size_t(in.word()));
  if (auto pattern = uint32_t(in.word()))
    fill(in.pool, bytes, pattern);
  else
    for (std::span<char> part : touchedParts(bytes))
      fill(in.pool, part, 0);
  return {};
}

Status runPrune(Arguments in) {
  auto *score = in.array<float>();
  auto rate = in.scalar<double>();
  auto *keep = in.array<int8_t>();
  auto nnz = size_t(in.word());
  return prune({score, nnz}, rate, in.word(), {keep, nnz});
}

Status runCheckPrune(Arguments in) {
  auto rate = in.scalar<double>();
  auto nan = in.scalar<int64_t>();
  return checkPrune(rate, nan);
}

Status runGrowRandom(Arguments in) {
  ActiveArrays arrays(in);
  auto *keep = in.array<int8_t>();
  auto seed = in.scalar<int64_t>(), update = in.scalar<int64_t>();
  auto *grown = in.array<int32_t>();
  BlockGrid grid = in.grid();
  int64_t nnz = in.word(), layer = in.word();
  bool regrowPruned = in.word() != 0;
  return growRandom(in.pool, arrays.with(grid, nnz), {keep, size_t(nnz)}, {seed, layer, update, regrowPruned},
                    {grown, size_t(nnz)});
}

Status runUpdateTopology(Arguments in) {
  auto *keep = in.array<int8_t>();
  auto *grown = in.array<int32_t>();
  TopologyArrays arrays(in);
  auto *slotMap = in.array<int32_t>();
  BlockGrid grid = in.grid();
  auto nnz = size_t(in.word());
  return updateTopology({keep, nnz}, {grown, nnz}, arrays.with(grid, int64_t(nnz)), {slotMap, nnz});
}

Status runRemap(Arguments in) {
  auto *slotMap = in.array<int32_t>();
  auto *array = in.array<std::byte>();
  auto nnz = size_t(in.word());
  return remap({slotMap, nnz}, array, in.word());
}

/// Runs a routine on the host. The arrays that it reads are among the first `reads` of its `operands`, those that it
/// writes are the last `writes`.
template <Status (*routine)(Arguments), size_t operands, size_t reads, size_t writes>
Status runOnHost(smet_context *context, char *arena, const int64_t *table) {
  std::span arrays(table, operands);
  auto host = Context::of(context).toHost(arena, arrays.first(reads));
  if (!host)
    return std::unexpected(host.error());
  if (Status done = routine(Arguments(context, arena, *host, table)); !done)
    return done;
  return Context::of(context).toDevice(arrays.last(writes));
}

/// The ABI form of a routine: errors, and the lack of memory, become a status and a message. What a routine writes into
/// the workspace it also counts as read: other arrays may overlap the largest one there, which is what is copied.
template <Status (*routine)(Arguments), size_t operands, size_t reads, size_t writes>
int32_t entry(smet_context *context, char *arena, const int64_t *table) {
  Status status;
  try {
    status = runOnHost<routine, operands, reads, writes>(context, arena, table);
  } catch (const std::bad_alloc &) {
    status = fail("out of memory during a topology update");
  }
  if (status)
    return SMET_OK;
  leaveMessage(*context, status.error().message);
  return SMET_ROUTINE_FAILED;
}

} // namespace

void setRoutines(smet_context &context) {
  context.topology_init = entry<runTopologyInit, 6, 0, 5>;
  context.topology_from_mask = entry<runTopologyFromMask, 6, 1, 5>;
  context.init_normal_sparse = entry<runInitNormalSparse, 4, 3, 1>;
  context.init_normal_dense = entry<runInitNormalDense, 2, 0, 1>;
  context.fill = entry<runFill, 1, 0, 1>;
  context.prune = entry<runPrune, 3, 3, 1>;
  context.grow_random = entry<runGrowRandom, 6, 6, 1>;
  context.update_topology = entry<runUpdateTopology, 8, 8, 6>;
  context.remap = entry<runRemap, 2, 2, 1>;
  context.check_prune = entry<runCheckPrune, 2, 0, 0>;
}

} // namespace smet::rt
