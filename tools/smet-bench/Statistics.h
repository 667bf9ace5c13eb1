//===- Statistics.h - measured times ----------------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_STATISTICS_H
#define SMET_TOOLS_BENCH_STATISTICS_H

#include <algorithm>
#include <chrono>
#include <vector>

namespace smet::bench {

/// What repeated measurements gave, in the order of the rounds.
struct Series {
  std::vector<double> samples;

  double median() const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    size_t last = sorted.size() - 1;
    return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2;
  }
  double min() const { return *std::min_element(samples.begin(), samples.end()); }
  double max() const { return *std::max_element(samples.begin(), samples.end()); }

  /// Round by round: machines change their speed from round to round, ratios hardly.
  Series operator/(const Series &other) const {
    Series ratio;
    for (size_t i = 0; i < samples.size(); ++i)
      ratio.samples.push_back(samples[i] / other.samples[i]);
    return ratio;
  }
  Series &operator+=(const Series &other) {
    samples.resize(std::max(samples.size(), other.samples.size()));
    for (size_t i = 0; i < other.samples.size(); ++i)
      samples[i] += other.samples[i];
    return *this;
  }
};

/// The seconds that body() takes.
template <typename Body> double secondsOf(Body &&body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_STATISTICS_H
