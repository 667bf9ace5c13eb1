//===- Ptxas.cpp - NVIDIA's assembler as a process ------------------------===//
#include "Ptxas.h"

#include "smet/Conversion/CUDA.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;
using namespace smet;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Expected<std::string> smet::findPtxas() {
  if (const char *chosen = std::getenv("SMET_PTXAS"); chosen && *chosen) {
    if (sys::fs::can_execute(chosen))
      return chosen;
    return createStringError(Twine("$SMET_PTXAS names '") + chosen + "', which is no program; name ptxas or unset it");
  }
  if (auto path = sys::findProgramByName("ptxas"))
    return *path;
  if (sys::fs::can_execute(SMET_PTXAS))
    return SMET_PTXAS;
  return createStringError("cannot find ptxas, which assembles GPU kernels: it is neither named by $SMET_PTXAS nor on "
                           "PATH nor where it was when smet was built ('" SMET_PTXAS "'); run scripts/setup, or "
                           "install the CUDA toolkit");
}

static std::string textOf(StringRef file) {
  auto text = MemoryBuffer::getFile(file);
  return text ? (*text)->getBuffer().str() : std::string();
}

/// Runs a program with its output in the file `log`.
static Error run(StringRef program, ArrayRef<StringRef> arguments, StringRef log) {
  SmallVector<StringRef> all{program};
  append_range(all, arguments);
  std::optional<StringRef> redirects[] = {StringRef(""), log, log};
  std::string message;
  if (sys::ExecuteAndWait(program, all, std::nullopt, redirects, 0, 0, &message) == 0)
    return Error::success();
  return createStringError("'" + program + "' failed: " + message + "\n" + textOf(log));
}

static Error write(StringRef file, StringRef text) {
  std::error_code error;
  raw_fd_ostream os(file, error);
  if (!error) {
    os << text;
    os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? createStringError("cannot write '" + file + "': " + error.message()) : Error::success();
}

std::string smet::ptxasVersion() {
  auto ptxas = findPtxas();
  SmallString<128> log;
  if (!ptxas || sys::fs::createTemporaryFile("smet-ptxas", "log", log)) {
    consumeError(ptxas.takeError());
    return "none";
  }
  Error error = run(*ptxas, {"--version"}, log);
  std::string version = error ? "unknown" : textOf(log);
  consumeError(std::move(error));
  sys::fs::remove(log);
  return version;
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

Expected<Assembled> smet::assemble(StringRef ptx, StringRef chip, bool fatbin) {
  auto ptxas = findPtxas();
  if (!ptxas)
    return ptxas.takeError();
  SmallString<128> folder;
  if (std::error_code error = sys::fs::createUniqueDirectory("smet-ptxas", folder))
    return createStringError("cannot make a temporary directory: " + error.message());
  auto cleanup = make_scope_exit([&] { sys::fs::remove_directories(folder); });
  auto file = [&](StringRef name) { return (folder + "/" + name).str(); };
  std::string source = file("kernel.ptx"), cubin = file("kernel.cubin"), log = file("log");
  if (Error error = write(source, ptx))
    return std::move(error);
  if (Error error = run(*ptxas, {"-v", "-O3", "-arch", chip, source, "-o", cubin}, log)) {
    cleanup.release();
    return joinErrors(std::move(error), createStringError("the PTX is kept in '" + source + "'"));
  }
  std::string result = cubin;
  if (fatbin) {
    SmallString<128> program(sys::path::parent_path(*ptxas));
    sys::path::append(program, "fatbinary");
    if (!sys::fs::can_execute(program))
      return createStringError("cannot find '" + program + "', which makes a fatbin; take the format bin");
    result = file("kernel.fatbin");
    StringRef number = chip.drop_front(StringRef("sm_").size());
    std::string elf = ("--image3=kind=elf,sm=" + number + ",file=" + cubin).str();
    std::string isa = ("--image3=kind=ptx,sm=" + number + ",file=" + source).str();
    std::string create = "--create=" + result;
    if (Error error = run(program, {"--64", create, elf, isa}, file("fatbinary.log")))
      return std::move(error);
  }
  auto image = MemoryBuffer::getFile(result, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!image)
    return createStringError("cannot read '" + result + "': " + image.getError().message());
  return Assembled{(*image)->getBuffer().str(), parseResources(textOf(log))};
}

StringMap<KernelResources> smet::parseResources(StringRef log) {
  StringMap<KernelResources> resources;
  Regex entry("Compiling entry function '([^']+)'");
  Regex frame("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  Regex registers("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem");
  std::string current;
  SmallVector<StringRef> match, lines;
  log.split(lines, '\n');
  auto number = [](StringRef text) {
    int64_t value = 0;
    text.getAsInteger(10, value);
    return value;
  };
  for (StringRef line : lines) {
    if (entry.match(line, &match))
      current = match[1].str();
    if (frame.match(line, &match)) {
      KernelResources &kernel = resources[current];
      kernel.stackBytes = number(match[1]);
      kernel.spillStoreBytes = number(match[2]);
      kernel.spillLoadBytes = number(match[3]);
    }
    if (registers.match(line, &match))
      resources[current].registers = number(match[1]);
    if (shared.match(line, &match))
      resources[current].sharedBytes = number(match[1]);
  }
  return resources;
}
