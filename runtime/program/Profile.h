//===- Profile.h - where the time of an entry point goes --------*- C++ -*-===//
//
// Sums the time of an entry point's calls over its runs, by op or by kernel:
//
//   Profile profile(instance.manifest().calls.at("train_step"));
//   instance.run("train_step", &profile);
//   for (const Profile::Row &row : profile.byOp())
//     print("{} {} s\n", row.name, row.seconds);
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_PROFILE_H
#define SMET_RUNTIME_PROGRAM_PROFILE_H

#include "runtime/cpu/Context.h"
#include "runtime/program/Manifest.h"

#include <chrono>

namespace smet::rt {

class Profile : public Trace {
public:
  /// Calls of one name, over all runs.
  struct Row {
    std::string name;
    double seconds = 0;
    int64_t calls = 0, flops = 0, bytes = 0;
  };

  /// `calls` must outlive the profile.
  explicit Profile(const std::vector<CallInfo> &calls) : calls(calls), seconds(calls.size()), counts(calls.size()) {}

  void mark(int64_t call) override;

  /// The longest first.
  std::vector<Row> byOp() const { return sum(&CallInfo::op); }
  std::vector<Row> byCallee() const { return sum(&CallInfo::callee); }

private:
  std::vector<Row> sum(std::string CallInfo::*name) const;

  const std::vector<CallInfo> &calls;
  std::vector<double> seconds;
  std::vector<int64_t> counts;
  int64_t current = -1; ///< the call that runs
  std::chrono::steady_clock::time_point begin;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_PROFILE_H
