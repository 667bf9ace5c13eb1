//===- Table.h - results as a table and as JSON -----------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_TABLE_H
#define SMET_TOOLS_BENCH_TABLE_H

#include "Statistics.h"

#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace smet::bench {

/// Columns under a header: the first to the left, the others to the right.
struct Table {
  std::vector<std::vector<std::string>> rows;

  void print() const;
};

/// Three digits that count, or all before the point.
std::string number(double value);

/// "12.3 (12.1..13.0)": median, least and largest value times `scale`.
std::string spread(const Series &series, double scale = 1);

/// {"median": ..., "min": ..., "max": ..., "samples": [...]}
nlohmann::json toJson(const Series &series);

/// Writes the results to `file`, if it is not empty.
rt::Status writeResults(const nlohmann::json &results, const std::filesystem::path &file);

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_TABLE_H
