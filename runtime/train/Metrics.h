//===- Metrics.h - metrics.jsonl --------------------------------*- C++ -*-===//
//
// One JSON object a line and step: the fields of the progress line, and at steps with a topology update "update",
// "pruned", "grown" and "overlap", at evaluations "val_loss", "val_perplexity" and "val_bits_per_character".
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_METRICS_H
#define SMET_RUNTIME_TRAIN_METRICS_H

#include "runtime/support/Error.h"
#include "runtime/train/Curve.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

namespace smet::rt {

class MetricsLog {
public:
  /// Opens the file for appending, after removing what lies beyond `step`: a resumed run writes those steps again.
  static Expected<MetricsLog> open(const std::filesystem::path &file, int64_t step);
  Status append(const nlohmann::json &record);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  MetricsLog(std::FILE *file, std::filesystem::path path) : file(file), path(std::move(path)) {}

  std::unique_ptr<std::FILE, Close> file;
  std::filesystem::path path;
};

/// The records of a file; a last line that was cut off is left out. A missing file has none.
Expected<std::vector<nlohmann::json>> readMetrics(const std::filesystem::path &file);

/// The training loss over the steps, averaged into at most `bins` points.
std::vector<CurvePoint> lossCurve(const std::vector<nlohmann::json> &records, int bins);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_METRICS_H
