//===- smet-compile.cpp - a compile request -> a program file -------------===//
//
// The compiler as a process of its own: `smet` runs it, so that the trainer contains no LLVM and survives its crashes.
//
//===----------------------------------------------------------------------===//
#include "smet/Compiler/Request.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

int main(int argc, char **argv) {
  cl::OptionCategory category("smet-compile options");
  cl::opt<std::string> requestFile("request", cl::Required, cl::value_desc("file"), cl::cat(category),
                                   cl::desc("the compile request, JSON ('-': standard input)"));
  cl::opt<std::string> cache("cache", cl::value_desc("folder"), cl::cat(category),
                             cl::desc("write the program there unless it is there already; its path is printed"));
  cl::opt<std::string> output("o", cl::value_desc("file"), cl::cat(category), cl::desc("write the program here"));
  cl::opt<std::string> dump("dump-ir", cl::value_desc("folder"), cl::cat(category),
                            cl::desc("write the IR after each stage there"));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "smet compiler: a model and its options to a program file\n");

  auto fail = [](const llvm::Twine &message) {
    llvm::errs() << "error: " << message << "\n";
    return 1;
  };
  if (cache.empty() == output.empty())
    return fail("give either --cache or -o");
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(requestFile);
  if (!text)
    return fail("cannot read '" + requestFile + "': " + text.getError().message());
  auto request = smet::CompileRequest::parse((*text)->getBuffer());
  if (!request)
    return fail(llvm::toString(request.takeError()));
  std::string path = output;
  if (output.empty()) {
    auto cached = smet::compileCached(*request, cache, dump);
    if (!cached)
      return fail(llvm::toString(cached.takeError()));
    path = *cached;
  } else if (auto error = smet::compileRequest(*request, output, dump)) {
    return fail(llvm::toString(std::move(error)));
  }
  llvm::outs() << path << "\n";
  return 0;
}
