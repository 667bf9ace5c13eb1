//===- Progress.cpp - what a run shows of itself --------------------------===//

#include "runtime/train/Progress.h"

#include "runtime/support/Print.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <unistd.h>

namespace smet::rt {

double StepReport::perplexity() const { return std::exp(loss); }

std::string durationText(double seconds) {
  auto whole = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0)
    return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

/// Three significant digits with the prefix of the power of 1000.
static std::string scaled(double value, std::span<const std::string_view> prefixes) {
  size_t i = 0;
  while (std::abs(value) >= 999.5 && i + 1 < prefixes.size()) {
    value /= 1000;
    ++i;
  }
  int digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, digits, prefixes[i]);
}

std::string bytesText(double bytes) {
  static constexpr std::string_view units[] = {" B", " kB", " MB", " GB", " TB"};
  return scaled(bytes, units);
}

std::string countText(double count) {
  static constexpr std::string_view units[] = {"", "k", "M", "G", "T"};
  return scaled(count, units);
}

int64_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return statm ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::string progressLine(const StepReport &r) {
  return fmt::format("step {}/{}  loss {:.4f}  ppl {:.2f}  lr {:.2e}  {} tok/s  {:.1f} ms/step  {}  ETA {}", r.step,
                     r.steps, r.loss, r.perplexity(), r.learningRate, countText(r.tokensPerSecond), r.msPerStep,
                     bytesText(static_cast<double>(r.memoryBytes)), durationText(r.etaSeconds));
}

nlohmann::json toJson(const StepReport &r) {
  return {{"step", r.step},
          {"steps", r.steps},
          {"loss", r.loss},
          {"perplexity", r.perplexity()},
          {"lr", r.learningRate},
          {"tokens_per_second", r.tokensPerSecond},
          {"ms_per_step", r.msPerStep},
          {"memory_bytes", r.memoryBytes},
          {"eta_seconds", r.etaSeconds}};
}

void StepTimer::add(double seconds) {
  ++count;
  double weight = std::max(1.0 / static_cast<double>(count), 0.05);
  mean += weight * (seconds - mean);
}

Progress::Progress(std::FILE *stream, int64_t logEvery)
    : stream(stream), logEvery(logEvery), terminal(isatty(fileno(stream)) == 1) {}

void Progress::step(const StepReport &report) {
  if (terminal) {
    print(stream, "\r{}\x1b[K", progressLine(report));
    std::fflush(stream);
    lineOpen = true;
  } else if (report.step % logEvery == 0 || report.step == report.steps || report.step == 1) {
    print(stream, "{}\n", progressLine(report));
    std::fflush(stream);
  }
}

void Progress::note(std::string_view text) {
  finish();
  print(stream, "{}\n", text);
  std::fflush(stream);
}

void Progress::finish() {
  if (lineOpen)
    print(stream, "\n");
  lineOpen = false;
}

} // namespace smet::rt
