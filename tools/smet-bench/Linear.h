//===- Linear.h - smet-bench linear and layer -------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_LINEAR_H
#define SMET_TOOLS_BENCH_LINEAR_H

#include "Job.h"

#include "runtime/support/Error.h"

#include <filesystem>

namespace smet::bench {

struct LinearOptions {
  Job job;
  std::string op = "all"; ///< or the name of one
  std::vector<std::string> baselines{"onednn"};
  int64_t rounds = 5;
  std::filesystem::path json, cache;
};

/// Measures the job beside the baselines, one after the other in every round, and prints times and ratios. `title` says
/// what the layers are.
rt::Expected<int> runLinear(const LinearOptions &options, const std::string &title);

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_LINEAR_H
