//===- Metrics.cpp - metrics.jsonl ----------------------------------------===//

#include "runtime/train/Metrics.h"

#include "runtime/support/File.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

namespace smet::rt {

namespace fs = std::filesystem;

Expected<std::vector<nlohmann::json>> readMetrics(const fs::path &file) {
  std::vector<nlohmann::json> records;
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    return records;
  Expected<std::string> text = readFile(file);
  if (!text)
    return std::unexpected(text.error());
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object() && record.contains("step") && record["step"].is_number_integer())
      records.push_back(std::move(record));
  }
  return records;
}

/// Rewrites the file without the records after `step`.
static Status truncateAfter(const fs::path &file, int64_t step) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    return {};
  Expected<std::vector<nlohmann::json>> records = readMetrics(file);
  if (!records)
    return std::unexpected(records.error());
  std::string text;
  for (const nlohmann::json &record : *records)
    if (record["step"].get<int64_t>() <= step)
      text += record.dump() + "\n";
  return writeFileAtomically(file, text);
}

Expected<MetricsLog> MetricsLog::open(const fs::path &path, int64_t step) {
  if (Status status = truncateAfter(path, step); !status)
    return std::unexpected(status.error());
  std::FILE *file = std::fopen(path.c_str(), "ae");
  if (!file)
    return fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
  return MetricsLog(file, path);
}

Status MetricsLog::append(const nlohmann::json &record) {
  std::string line = record.dump() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() || std::fflush(file.get()) != 0)
    return fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
  return {};
}

std::vector<CurvePoint> lossCurve(const std::vector<nlohmann::json> &records, int bins) {
  std::vector<CurvePoint> points;
  auto count = static_cast<int64_t>(records.size());
  bins = static_cast<int>(std::min<int64_t>(bins, count));
  for (int bin = 0; bin < bins; ++bin) {
    int64_t begin = count * bin / bins, end = count * (bin + 1) / bins;
    CurvePoint sum{0, 0};
    for (int64_t i = begin; i < end; ++i) {
      sum.x += records[i].value("step", 0.0);
      auto loss = records[i].find("loss");
      sum.y += loss != records[i].end() && loss->is_number() ? loss->get<double>() : 0.0;
    }
    points.push_back({sum.x / static_cast<double>(end - begin), sum.y / static_cast<double>(end - begin)});
  }
  return points;
}

} // namespace smet::rt
