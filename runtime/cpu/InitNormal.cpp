//===- InitNormal.cpp - initial weights -----------------------------------===//

#include "runtime/cpu/Normal.h"
#include "runtime/cpu/Topology.h"

#include <algorithm>

namespace smet::rt {
namespace {

/// Writes elements of a dense matrix one after the other, in batches. Element i is number i % 2 of pair i / 2.
template <typename T> class NormalWriter {
public:
  NormalWriter(const RandomSource &source, double std, T *out) : source(source), std(std), out(out) {}
  ~NormalWriter() { flush(); }

  /// Elements [begin, end).
  void add(int64_t begin, int64_t end) {
    while (begin < end) {
      auto pair = uint64_t(begin / 2);
      if (pairs > 0 && indices[pairs - 1] == pair)
        --pairs; // this run goes on within the pair that the last one ended in
      else if (pairs == batch)
        flush();
      int64_t partEnd = std::min(end, 2 * int64_t(pair + batch - pairs));
      for (int64_t i = 0, place = 2 * int64_t(pairs) + begin % 2; i < partEnd - begin; ++i)
        places[elements + i] = uint16_t(place + i);
      elements += partEnd - begin;
      for (auto pairsEnd = uint64_t((partEnd + 1) / 2); pair < pairsEnd; ++pair)
        indices[pairs++] = pair;
      begin = partEnd;
    }
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
          writer.add(first, first + grid.blockCols);
        }
  });
}

template <typename T> void drawDense(ThreadPool &pool, int64_t seed, int64_t layer, double std, std::span<T> values) {
  RandomSource source{RandomStream::Normal, seed, layer};
  pool.parallelFor(int64_t(values.size()), [&](int64_t begin, int64_t end) {
    NormalWriter writer(source, std, values.data() + begin);
    writer.add(begin, end);
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
