//===- Doctor.h - what this machine can train on ----------------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_DOCTOR_H
#define SMET_RUNTIME_TRAIN_DOCTOR_H

#include "runtime/train/CompilerProcess.h"

#include <span>
#include <string>
#include <vector>

namespace smet::rt {

/// Something that was looked at.
struct Finding {
  enum class State {
    Good,
    Slower, ///< everything works, but not as fast as it might
    Missing,
  };
  std::string what;
  State state = State::Good;
  std::string found; ///< or why it is missing
  std::string fix;   ///< what to do; empty if there is nothing to do
};

/// Where a program can be trained, and what this takes.
struct TargetFinding {
  std::string target;
  std::vector<std::string> missing; ///< by `what`; empty: it can
};

struct Examination {
  std::vector<Finding> findings;
  std::vector<TargetFinding> targets; ///< cpu, cuda
};

/// Looks at processor, memory, threads, the provider of dense products, compiler and ptxas, GPU driver and cards.
Examination examine(const CompilerProcess &compiler);

/// A table, with a line for every fix, and what follows for the targets.
std::string examinationText(const Examination &examination);

/// Prints that; kOk if programs for `target` can be compiled and trained here, else kError.
Expected<int> runDoctor(const std::string &target, const CompilerProcess &compiler);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_DOCTOR_H
