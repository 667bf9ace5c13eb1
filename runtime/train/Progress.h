//===- Progress.h - what a run shows of itself ------------------*- C++ -*-===//
//
// One report a step, in three forms: a line that is redrawn in place on a terminal, a plain line every N steps
// elsewhere, and an object of metrics.jsonl with the same fields.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_PROGRESS_H
#define SMET_RUNTIME_TRAIN_PROGRESS_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace smet::rt {

struct StepReport {
  int64_t step = 0, steps = 0;
  double loss = 0; ///< nats a token
  double learningRate = 0;
  double tokensPerSecond = 0, msPerStep = 0;
  int64_t memoryBytes = 0; ///< resident memory of the process
  double etaSeconds = 0;

  double perplexity() const;
};

/// "step 120/4000  loss 4.1234  ppl 61.8  lr 6.0e-04  10.2k tok/s  201 ms/step  212 MB  ETA 13:05"
std::string progressLine(const StepReport &report);
nlohmann::json toJson(const StepReport &report);

/// "1:02:03" or "2:03".
std::string durationText(double seconds);
/// "12.3 MB"; powers of 1000.
std::string bytesText(double bytes);
/// "58.1M", "1.2k".
std::string countText(double count);

/// Resident memory of this process, in bytes; 0 where it is not known.
int64_t residentBytes();

/// Speed over the last steps, as an exponential mean so that it settles in some ten steps and follows a change.
class StepTimer {
public:
  explicit StepTimer(int64_t tokensPerStep) : tokens(tokensPerStep) {}
  void add(double seconds);
  double secondsPerStep() const { return mean; }
  double tokensPerSecond() const { return mean > 0 ? static_cast<double>(tokens) / mean : 0; }

private:
  int64_t tokens, count = 0;
  double mean = 0;
};

/// Writes reports and notes to a stream, redrawing one line when it is a terminal.
class Progress {
public:
  Progress(std::FILE *stream, int64_t logEvery);
  ~Progress() { finish(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void step(const StepReport &report);
  /// A line of its own, above the line in progress.
  void note(std::string_view text);
  /// Ends the line in progress.
  void finish();

private:
  std::FILE *stream;
  int64_t logEvery;
  bool terminal, lineOpen = false;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_PROGRESS_H
