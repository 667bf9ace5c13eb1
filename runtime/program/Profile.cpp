//===- Profile.cpp --------------------------------------------------------===//

#include "runtime/program/Profile.h"

#include <algorithm>

namespace smet::rt {

void Profile::mark(int64_t call) {
  auto now = std::chrono::steady_clock::now();
  if (current >= 0) {
    seconds[current] += std::chrono::duration<double>(now - begin).count();
    ++counts[current];
  }
  current = call;
  begin = now;
}

std::vector<Profile::Row> Profile::sum(std::string CallInfo::*name) const {
  std::map<std::string, Row> rows;
  for (size_t i = 0; i < calls.size(); ++i) {
    Row &row = rows[calls[i].*name];
    row.name = calls[i].*name;
    row.seconds += seconds[i];
    row.calls += counts[i];
    row.flops += counts[i] * calls[i].flops;
    row.bytes += counts[i] * calls[i].bytes;
  }
  std::vector<Row> sorted;
  for (auto &[key, row] : rows)
    sorted.push_back(std::move(row));
  std::ranges::sort(sorted, std::ranges::greater(), &Row::seconds);
  return sorted;
}

} // namespace smet::rt
