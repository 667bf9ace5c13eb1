//===- Link.cpp - object files -> program file ----------------------------===//
#include "Link.h"

#include "runtime/program/ProgramFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static Error writeFile(StringRef path, StringRef bytes) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (!error) {
    os << bytes;
    os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? createStringError("cannot write '" + path + "': " + error.message()) : Error::success();
}

static Expected<std::string> findLinker() {
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (auto path = sys::findProgramByName(name))
      return *path;
  return createStringError("cannot find ld.lld-22 on PATH; run scripts/setup");
}

static Error runLinker(ArrayRef<std::string> objects, StringRef output, StringRef log) {
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  SmallVector<StringRef> arguments{*linker, "-shared", "--build-id=none", "-O1", "--gc-sections", "-z", "noexecstack",
                                   "-o",    output};
  llvm::append_range(arguments, objects);
  std::string message;
  std::optional<StringRef> redirects[] = {StringRef(), log, log};
  if (sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects, 0, 0, &message) == 0)
    return Error::success();
  auto text = MemoryBuffer::getFile(log);
  return createStringError("the linker failed: " + message + (text ? (*text)->getBuffer().str() : std::string()));
}

Error smet::linkProgram(ArrayRef<std::string> objects, StringRef name) {
  // A link stays one: what it leads to is written.
  SmallString<128> path(name);
  if (sys::fs::is_symlink_file(name) && sys::fs::real_path(name, path))
    return createStringError("cannot write '" + name + "': the link leads nowhere");
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path)) // the rename below would replace a device
    return createStringError("cannot write '" + path + "': it is not a regular file; choose another name");
  SmallString<128> directory;
  if (std::error_code error = sys::fs::createUniqueDirectory("smet-link", directory))
    return createStringError("cannot make a temporary directory: " + error.message());
  std::vector<std::string> files;
  Error result = Error::success();
  for (const std::string &object : objects) {
    files.push_back((directory + "/" + Twine(files.size()) + ".o").str());
    if ((result = writeFile(files.back(), object)))
      break;
  }
  // On the file system of the result, so that the rename is atomic.
  std::string temporary = (path + "." + Twine(sys::Process::getProcessId()) + ".tmp").str();
  if (!result)
    result = runLinker(files, temporary, (directory + "/log").str());
  sys::fs::remove_directories(directory);
  if (result)
    return result;
  if (std::string message = appendTrailer(temporary); !message.empty()) {
    sys::fs::remove(temporary);
    return createStringError(message);
  }
  if (std::error_code error = sys::fs::rename(temporary, path)) {
    sys::fs::remove(temporary);
    return createStringError("cannot write '" + path + "': " + error.message());
  }
  return Error::success();
}
