//===- InitNormal.cpp - initial weights -----------------------------------===//

#include "runtime/cpu/Normal.h"
#include "runtime/cpu/Topology.h"

namespace smet::rt {
namespace {

/// Writes elements of a dense matrix one after the other, in batches. Element i is number i % 2 of pair i / 2; a walk
/// along a row mostly needs both.
template <typename T> class NormalWriter {
public:
  NormalWriter(const RandomSource &source, double std, T *out) : source(source), std(std), out(out) {}
  ~NormalWriter() { flush(); }

  void add(int64_t index) {
    auto pair = uint64_t(index / 2);
    if (pairs == 0 || indices[pairs - 1] != pair) {
      if (pairs == batch)
        flush();
      indices[pairs++] = pair;
    }
    places[elements++] = uint16_t(2 * (pairs - 1) + index % 2);
  }

private:
  static constexpr size_t batch = 512;

  void flush() {
    static const NormalPairsFunction computePairs = normalPairsFunctions().front();
    computePairs(source, std::span(indices).first(pairs), values);
    for (size_t i = 0; i < elements; ++i)
      *out++ = T(float(std * values[places[i]]));
    pairs = elements = 0;
  }

  RandomSource source;
  double std;
  T *out;
  size_t pairs = 0, elements = 0;
  uint64_t indices[batch];
  uint16_t places[2 * batch]; ///< of the elements in `values`: an element is asked for once
  double values[2 * batch];
};

template <typename T>
void drawSparse(ThreadPool &pool, const ActiveBlocks &active, int64_t seed, int64_t layer, double std, T *values) {
  const BlockGrid &grid = active.grid;
  RandomSource source{RandomStream::Normal, seed, layer};
  pool.parallelFor(grid.rowBlocks(), [&](int64_t begin, int64_t end) {
    NormalWriter writer(source, std, values + active.positions[begin] * grid.blockRows * grid.blockCols);
    for (int64_t row = begin; row < end; ++row)
      for (int64_t slot = active.positions[row]; slot < active.positions[row + 1]; ++slot)
        for (int64_t i = 0; i < grid.blockRows; ++i) {
          int64_t first = (row * grid.blockRows + i) * grid.cols + active.coordinates[slot] * grid.blockCols;
          for (int64_t j = 0; j < grid.blockCols; ++j)
            writer.add(first + j);
        }
  });
}

template <typename T> void drawDense(ThreadPool &pool, int64_t seed, int64_t layer, double std, std::span<T> values) {
  RandomSource source{RandomStream::Normal, seed, layer};
  pool.parallelFor(int64_t(values.size()), [&](int64_t begin, int64_t end) {
    NormalWriter writer(source, std, values.data() + begin);
    for (int64_t i = begin; i < end; ++i)
      writer.add(i);
  });
}

} // namespace

void initNormalSparse(ThreadPool &pool, const ActiveBlocks &active, int64_t seed, int64_t layer, double std,
                      float *values) {
  drawSparse(pool, active, seed, layer, std, values);
}

void initNormalSparse(ThreadPool &pool, const ActiveBlocks &active, int64_t seed, int64_t layer, double std,
                      BF16 *values) {
  drawSparse(pool, active, seed, layer, std, values);
}

void initNormalDense(ThreadPool &pool, int64_t seed, int64_t layer, double std, std::span<float> values) {
  drawDense(pool, seed, layer, std, values);
}

void initNormalDense(ThreadPool &pool, int64_t seed, int64_t layer, double std, std::span<BF16> values) {
  drawDense(pool, seed, layer, std, values);
}

} // namespace smet::rt
