//===- Schedules.cpp - learning rate and prune rate over a run ------------===//

#include "runtime/train/Schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace smet::rt {

/// Progress at which Wsd leaves its plateau.
static constexpr double kDecayStart = 0.8;

double anneal(Schedule schedule, double first, double last, double p) {
  p = std::clamp(p, 0.0, 1.0);
  switch (schedule) {
  case Schedule::Constant:
    return first;
  case Schedule::Linear:
    return first + (last - first) * p;
  case Schedule::Cosine:
    return last + (first - last) * 0.5 * (1.0 + std::cos(std::numbers::pi * p));
  case Schedule::Wsd:
    return anneal(Schedule::Linear, first, last, (p - kDecayStart) / (1.0 - kDecayStart));
  }
  return first;
}

double LearningRate::at(int64_t step) const {
  auto warmup = static_cast<int64_t>(std::llround(warmupFraction * static_cast<double>(steps)));
  if (step <= warmup)
    return peak * static_cast<double>(step) / static_cast<double>(warmup);
  double p = static_cast<double>(step - warmup) / static_cast<double>(std::max<int64_t>(steps - warmup, 1));
  return anneal(schedule, peak, finalFraction * peak, p);
}

double PruneRate::at(int64_t step) const {
  return anneal(schedule, first, last, static_cast<double>(step) / static_cast<double>(std::max<int64_t>(steps, 1)));
}

} // namespace smet::rt
