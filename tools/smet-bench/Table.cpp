//===- Table.cpp - results as a table and as JSON -------------------------===//
#include "Table.h"

#include "runtime/support/File.h"
#include "runtime/support/Print.h"

#include <cmath>

namespace smet::bench {

void Table::print() const {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    rt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

std::string number(double value) {
  int before = std::isnormal(value) ? int(std::floor(std::log10(std::abs(value)))) : 0; // digits, less one
  return fmt::format("{:.{}f}", value, std::max(2 - before, 0));
}

std::string spread(const Series &series, double scale) {
  if (std::isnan(series.median()))
    return "-";
  return fmt::format("{} ({}..{})", number(series.median() * scale), number(series.min() * scale),
                     number(series.max() * scale));
}

nlohmann::json toJson(const Series &series) {
  return {{"median", series.median()}, {"min", series.min()}, {"max", series.max()}, {"samples", series.samples}};
}

rt::Status writeResults(const nlohmann::json &results, const std::filesystem::path &file) {
  return file.empty() ? rt::Status() : rt::writeFileAtomically(file, results.dump(2) + "\n");
}

} // namespace smet::bench
