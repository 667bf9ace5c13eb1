//===- smet-compile.cpp - a compile request -> a program file -------------===//
//
// The compiler as a process of its own: `smet` runs it, so that the trainer contains no LLVM and survives its crashes.
//
//===----------------------------------------------------------------------===//
#include "Measure.h"

#include "smet/Compiler/Request.h"
#include "smet/Conversion/CUDA.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace cl = llvm::cl;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Measures in this process and says how far it is, from the third second on.
static smet::Tuner makeTuner() {
  smet::Tuner tuner;
  tuner.measure = [](const smet::TuningProgram &program) -> llvm::Expected<smet::TuningSeconds> {
    smet::TuningSeconds seconds;
    if (std::string error = smet::measure(program, seconds); !error.empty())
      return llvm::createStringError(error);
    return seconds;
  };
  tuner.progress = [start = Clock::now()](int64_t done, int64_t total) {
    if (double seconds = secondsSince(start); done && seconds > 2)
      llvm::errs() << llvm::formatv("tuning: {0} of {1} sparse products, about {2:f0} s left\n", done, total,
                                    seconds / double(done) * double(total - done));
  };
  tuner.finished = [start = Clock::now()](const smet::TuningReport &report) {
    llvm::errs() << llvm::formatv("tuned {0} sparse products: {1} measured now, {2} not as the cost model has them, "
                                  "{3:f1} s\n",
                                  report.products, report.measured, report.changed, secondsSince(start));
  };
  return tuner;
}

int main(int argc, char **argv) {
  cl::OptionCategory category("smet-compile options");
  cl::opt<std::string> requestFile("request", cl::value_desc("file"), cl::cat(category),
                                   cl::desc("the compile request, JSON ('-': standard input)"));
  cl::opt<std::string> moduleFile("module", cl::value_desc("file"), cl::cat(category),
                                  cl::desc("entry points as MLIR, text or bytecode, in place of a request"));
  cl::opt<smet::Target> target("target", cl::init(smet::Target::CPU), cl::cat(category),
                               cl::desc("of --module; a request has its own"),
                               cl::values(clEnumValN(smet::Target::CPU, "cpu", "vector kernels (default)"),
                                          clEnumValN(smet::Target::Reference, "reference", "defines the meaning"),
                                          clEnumValN(smet::Target::GPUEmulator, "gpu-emulator", "kernels of a GPU, run by the host"),
                                          clEnumValN(smet::Target::CUDA, "cuda", "kernels for NVIDIA's GPUs")));
  cl::opt<std::string> chip("chip", cl::value_desc("name"), cl::cat(category),
                            cl::desc("of the target cuda: sm_80 (A100), sm_90a (H100, H200), ... (default: the "
                                     "request's, or sm_90a)"));
  cl::opt<std::string> cpu("cpu", cl::value_desc("name"), cl::cat(category),
                           cl::desc("processor to compile for, as LLVM names it, or host (default: the request's)"));
  cl::opt<std::string> cache(
      "cache", cl::value_desc("folder"), cl::cat(category),
      cl::desc("write the program there unless it is there already; its path is printed. With -o: "
               "where compiled kernels are kept"));
  cl::opt<std::string> output("o", cl::value_desc("file"), cl::cat(category), cl::desc("write the program here"));
  cl::opt<bool> tune("tune", cl::cat(category),
                     cl::desc("measure the kernels that each sparse product may take, on this machine, and take the "
                              "fastest; results are kept in --cache"));
  cl::opt<std::string> dump("dump-ir", cl::value_desc("folder"), cl::cat(category),
                            cl::desc("write the IR after each stage there"));
  cl::opt<bool> askPtxas("ptxas-version", cl::cat(category),
                         cl::desc("print what the ptxas that GPU kernels are assembled with says of its version, or "
                                  "none; compile nothing"));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "smet compiler: a model and its options to a program file\n");

  auto fail = [](const llvm::Twine &message) {
    llvm::errs() << "error: " << message << "\n";
    return 1;
  };
  if (askPtxas) {
    llvm::outs() << smet::ptxasVersion() << "\n";
    return 0;
  }
  if (cache.empty() && output.empty())
    return fail("give --cache or -o");
  auto start = Clock::now();
  if (requestFile.empty() == moduleFile.empty())
    return fail("give either --request or --module");
  if (!requestFile.empty() && target.getNumOccurrences())
    return fail("--target belongs to --module; a request says \"target\" itself");
  const std::string &file = requestFile.empty() ? moduleFile : requestFile;
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!text)
    return fail("cannot read '" + file + "': " + text.getError().message());
  llvm::Expected<smet::CompileRequest> request = smet::CompileRequest();
  if (requestFile.empty()) {
    request->module = (*text)->getBuffer().str();
    request->target = target;
  } else {
    request = smet::CompileRequest::parse((*text)->getBuffer());
  }
  if (!request)
    return fail(llvm::toString(request.takeError()));
  if (!cpu.empty())
    request->cpu = cpu;
  if (!chip.empty())
    request->chip.name = chip;
  request->tune |= tune;
  smet::Tuner tuner = makeTuner();
  smet::CachedProgram program{output, std::nullopt};
  if (output.empty()) {
    auto cached = smet::compileCached(*request, cache, dump, &tuner);
    if (!cached)
      return fail(llvm::toString(cached.takeError()));
    program = std::move(*cached);
  } else {
    auto report = smet::compileRequest(*request, output, cache, dump, &tuner);
    if (!report)
      return fail(llvm::toString(report.takeError()));
    program.report = *report;
  }
  if (program.report)
    llvm::errs() << llvm::formatv("compiled {0} kernels, {1} from the cache, {2:f1} s\n", program.report->compiled,
                                  program.report->fromCache, secondsSince(start));
  llvm::outs() << program.path << "\n";
  return 0;
}
