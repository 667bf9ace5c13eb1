//===- InitNormal.cpp - initial weights -----------------------------------===//

#include "runtime/cpu/Philox.h"
#include "runtime/cpu/Topology.h"

namespace smet::rt {
namespace {

/// Element i of the dense matrix is number i % 2 of pair i / 2. Walks along rows mostly need both of a pair.
class NormalWalk {
public:
  NormalWalk(const RandomSource &source, double std) : source(source), std(std) {}

  float operator()(int64_t index) {
    if (index / 2 != pairIndex) {
      pairIndex = index / 2;
      pair = normalPair(source, uint64_t(pairIndex));
    }
    return float(std * pair[index % 2]);
  }

private:
  RandomSource source;
  double std;
  int64_t pairIndex = -1;
  std::array<double, 2> pair;
};

} // namespace

void initNormalSparse(ThreadPool &pool, const ActiveBlocks &active, int64_t seed, int64_t layer, double std,
                      float *values) {
  const BlockGrid &grid = active.grid;
  RandomSource source{RandomStream::Normal, seed, layer};
  pool.parallelFor(grid.rowBlocks(), [&](int64_t begin, int64_t end) {
    NormalWalk normal(source, std);
    float *out = values + active.positions[begin] * grid.blockRows * grid.blockCols;
    for (int64_t row = begin; row < end; ++row)
      for (int64_t slot = active.positions[row]; slot < active.positions[row + 1]; ++slot)
        for (int64_t i = 0; i < grid.blockRows; ++i) {
          int64_t first = (row * grid.blockRows + i) * grid.cols + active.coordinates[slot] * grid.blockCols;
          for (int64_t j = 0; j < grid.blockCols; ++j)
            *out++ = normal(first + j);
        }
  });
}

void initNormalDense(ThreadPool &pool, int64_t seed, int64_t layer, double std, std::span<float> values) {
  RandomSource source{RandomStream::Normal, seed, layer};
  pool.parallelFor(int64_t(values.size()), [&](int64_t begin, int64_t end) {
    NormalWalk normal(source, std);
    for (int64_t i = begin; i < end; ++i)
      values[i] = normal(i);
  });
}

} // namespace smet::rt
