//===- Doctor.cpp - what this machine can train on ------------------------===//

#include "runtime/train/Doctor.h"

#include "runtime/cpu/Gemm.h"
#include "runtime/cuda/Card.h"
#include "runtime/program/Processor.h"
#include "runtime/support/Print.h"
#include "runtime/train/Commands.h"
#include "runtime/train/Progress.h"

#include <algorithm>
#include <fstream>
#include <thread>

namespace smet::rt {

using State = Finding::State;

/// Messages of the runtime say what is wrong, then, behind a semicolon, what to do.
static Finding missing(std::string what, const std::string &message, State state = State::Missing) {
  size_t end = message.find("; ");
  return {std::move(what), state, message.substr(0, end), end == std::string::npos ? "" : message.substr(end + 2)};
}

static Finding processor() {
  std::vector<std::string_view> sets;
  for (std::string_view set : {"avx2", "fma", "avx512f", "avx512bw", "avx512bf16"})
    if (machineHas(set))
      sets.push_back(set);
  std::string found = fmt::format("x86-64{}{}", sets.empty() ? "" : " with ", fmt::join(sets, ", "));
  if (machineHas("avx2") && machineHas("fma"))
    return {"processor", State::Good, found, ""};
  return {"processor", State::Slower, found + "; kernels are fast with avx2 and fma", ""};
}

/// A line of /proc/meminfo in bytes; 0 if there is none.
static int64_t memoryInfo(std::string_view key) {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with(key))
      return std::strtoll(line.c_str() + key.size(), nullptr, 10) << 10;
  return 0;
}

static Finding memory() {
  return {"memory", State::Good,
          fmt::format("{}, {} available", bytesText(double(memoryInfo("MemTotal:"))),
                      bytesText(double(memoryInfo("MemAvailable:")))),
          ""};
}

static Finding threads() {
  return {"threads", State::Good, fmt::format("{}", std::max(1u, std::thread::hardware_concurrency())), ""};
}

/// selectGemm's choice, unless it had to do without oneDNN.
static Finding denseProducts() {
  auto chosen = selectGemm();
  if (!chosen)
    return missing("dense products", chosen.error().message);
  auto fast = oneDnnGemm();
  if (fast || chosen->name == fast.value_or(*chosen).name)
    return {"dense products", State::Good, chosen->name, ""};
  Finding finding = missing("dense products", fast.error().message, State::Slower);
  finding.found = fmt::format("{}; {}", chosen->name, finding.found);
  return finding;
}

/// "12.0" of "..., release 12.0, V12.0.76".
static std::string releaseOf(const std::string &version) {
  constexpr std::string_view key = "release ";
  size_t begin = version.find(key);
  if (begin == std::string::npos)
    return "of an unknown version";
  begin += key.size();
  return "of CUDA " + version.substr(begin, version.find_first_of(", \n", begin) - begin);
}

static void examineCompiler(const CompilerProcess &compiler, std::vector<Finding> &findings) {
  auto version = compiler.ptxasVersion();
  if (!version) {
    findings.push_back(missing("compiler", version.error().message));
    findings.push_back({"ptxas", State::Missing, "the compiler cannot be asked for it", ""});
    return;
  }
  findings.push_back({"compiler", State::Good, compiler.compiler.string(), ""});
  if (version->starts_with("none"))
    findings.push_back({"ptxas", State::Missing, "GPU kernels cannot be assembled",
                        "install the CUDA toolkit, run scripts/setup, or name ptxas in $SMET_PTXAS"});
  else
    findings.push_back({"ptxas", State::Good, releaseOf(*version), ""});
}

static Finding examineCard(const cuda::Driver &driver, const cuda::Card &card, size_t number) {
  std::string what = fmt::format("GPU {}", number);
  std::string found = fmt::format("{}, compute capability {}.{}", card.name, card.major, card.minor);
  if (card.major < cuda::kMinMajor)
    return {what, State::Missing, found, fmt::format("kernels need {}.0 (A100) or newer", cuda::kMinMajor)};
  auto free = cuda::memoryOf(driver, card);
  if (!free)
    return {what, State::Missing, fmt::format("{}: {}", found, free.error().message), "look at `nvidia-smi`"};
  return {what, State::Good,
          fmt::format("{} ({}), {} of {} free", found, card.chip(), bytesText(double(free->free)),
                      bytesText(double(free->total))),
          ""};
}

static void examineCards(std::vector<Finding> &findings) {
  auto driver = cuda::Driver::open();
  if (!driver) {
    findings.push_back(missing("NVIDIA driver", driver.error().message));
    return;
  }
  findings.push_back({"NVIDIA driver", State::Good, "knows CUDA " + cuda::versionText(driver->version), ""});
  auto cards = cuda::findCards(*driver);
  if (!cards) {
    findings.push_back(missing("GPU", cards.error().message));
    return;
  }
  for (size_t i = 0; i < cards->size(); ++i)
    findings.push_back(examineCard(*driver, (*cards)[i], i));
}

/// Programs run on the first card.
static TargetFinding targetFinding(std::string target, const std::vector<Finding> &findings,
                                   std::initializer_list<std::string_view> needed) {
  TargetFinding result{std::move(target), {}};
  for (const Finding &finding : findings)
    if (finding.state == State::Missing && std::ranges::find(needed, finding.what) != needed.end())
      result.missing.push_back(finding.what);
  return result;
}

Examination examine(const CompilerProcess &compiler) {
  Examination result;
  result.findings = {processor(), memory(), threads(), denseProducts()};
  examineCompiler(compiler, result.findings);
  examineCards(result.findings);
  result.targets = {
      targetFinding("cpu", result.findings, {"dense products", "compiler"}),
      targetFinding("cuda", result.findings, {"dense products", "compiler", "ptxas", "NVIDIA driver", "GPU", "GPU 0"})};
  return result;
}

static std::string_view nameOf(State state) {
  switch (state) {
  case State::Good:
    return "good";
  case State::Slower:
    return "slower";
  case State::Missing:
    return "missing";
  }
  return "";
}

std::string examinationText(const Examination &examination) {
  std::string text;
  for (const Finding &finding : examination.findings) {
    text += fmt::format("  {:<15} {:<8} {}\n", finding.what, nameOf(finding.state), finding.found);
    if (!finding.fix.empty())
      text += fmt::format("  {:<15} {:<8} to do: {}\n", "", "", finding.fix);
  }
  text += "\n";
  for (const TargetFinding &target : examination.targets)
    text += target.missing.empty() ? fmt::format("  smet train --target {:<5} works here\n", target.target)
                                   : fmt::format("  smet train --target {:<5} does not work here: see {}\n",
                                                 target.target, fmt::join(target.missing, ", "));
  return text;
}

Expected<int> runDoctor(const std::string &target, const CompilerProcess &compiler) {
  Examination examination = examine(compiler);
  print("{}", examinationText(examination));
  auto asked = std::ranges::find(examination.targets, target, &TargetFinding::target);
  if (asked == examination.targets.end())
    return fail("smet doctor knows the targets cpu and cuda, not '{}'", target);
  return asked->missing.empty() ? kOk : kError;
}

} // namespace smet::rt
