//===- Step.h - smet-bench step ---------------------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_STEP_H
#define SMET_TOOLS_BENCH_STEP_H

#include "runtime/train/Options.h"

namespace smet::bench {

struct StepOptions {
  rt::TrainOptions train;                    ///< what is compiled, and threads
  std::vector<const rt::OptionInfo *> given; ///< those of `train` that the command line names
  nlohmann::json model;                      ///< the Hugging Face config
  int64_t steps = 5;
  std::vector<std::string>
      baselines; ///< NAME=COMMAND of programs that train the dense model; f32: ours in f32; 1-thread: ours on one
  std::filesystem::path json;
};

/// Measures whole training steps on random tokens and prints where their time goes, by op: beside the operations and
/// bytes that the program's manifest counts, and what this machine would need for them at its limits. Then step time
/// and memory beside other programs, in turn.
rt::Expected<int> runStep(const StepOptions &options, const std::string &title);

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_STEP_H
