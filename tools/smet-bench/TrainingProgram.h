//===- TrainingProgram.h - a compiled model on random tokens ----*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_TRAININGPROGRAM_H
#define SMET_TOOLS_BENCH_TRAININGPROGRAM_H

#include "runtime/program/Instance.h"
#include "runtime/program/Profile.h"
#include "runtime/train/Options.h"

namespace smet::bench {

class TrainingProgram {
public:
  /// Compiles what the options say, initializes it, and gives it random tokens.
  static rt::Expected<TrainingProgram> create(const rt::TrainOptions &options, const nlohmann::json &model,
                                              rt::ThreadPool &pool);

  const rt::Manifest &manifest() const { return instance->manifest(); }
  /// Seconds of the next training step, which must have a finite loss; its calls are added to `profile`, if given.
  rt::Expected<double> step(rt::Profile *profile = nullptr);
  /// The same on the threads of another pool.
  rt::Expected<double> stepOn(rt::ThreadPool &pool, rt::Profile *profile = nullptr);
  /// Seconds of a topology update that replaces this share of the blocks.
  rt::Expected<double> updateTopology(double pruneRate, rt::Profile *profile = nullptr);

private:
  explicit TrainingProgram(std::unique_ptr<rt::Instance> instance) : instance(std::move(instance)) {}
  rt::Expected<double> run(std::string_view entry, rt::Profile *profile);

  std::unique_ptr<rt::Instance> instance;
  int64_t steps = 0, updates = 0;
};

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_TRAININGPROGRAM_H
