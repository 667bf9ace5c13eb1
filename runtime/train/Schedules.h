//===- Schedules.h - learning rate and prune rate over a run ----*- C++ -*-===//
//
// Both schedules are one shape, `anneal`, over the progress of the run; the learning rate has a linear warm-up before
// it. Steps count from 1, and a schedule knows the total number of steps, so that it is the same function of the step
// however often the run is interrupted.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_SCHEDULES_H
#define SMET_RUNTIME_TRAIN_SCHEDULES_H

#include <cstdint>

namespace smet::rt {

/// How a value goes from its first to its last as progress goes from 0 to 1.
enum class Schedule {
  Constant, ///< stays at the first
  Linear,   ///< first + (last - first) p
  Cosine,   ///< last + (first - last) (1 + cos(pi p)) / 2
  Wsd,      ///< "warm-up, stable, decay": stays until p = 0.8, then linear
};

/// The value at progress p, which is clamped to [0, 1].
double anneal(Schedule schedule, double first, double last, double p);

/// lr(t): peak t / w for t <= w = round(warmupFraction steps); then from peak to finalFraction peak by the schedule,
/// with p = (t - w) / (steps - w).
struct LearningRate {
  Schedule schedule = Schedule::Cosine;
  double peak = 0, warmupFraction = 0.1, finalFraction = 0.1;
  int64_t steps = 0;

  double at(int64_t step) const;
};

/// r(t): the share of a layer's active blocks that an update at step t prunes; p = t / steps (arXiv 2606.00888).
struct PruneRate {
  Schedule schedule = Schedule::Cosine;
  double first = 0.2, last = 0.005;
  int64_t steps = 0;

  double at(int64_t step) const;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_SCHEDULES_H
