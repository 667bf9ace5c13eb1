//===- CompilerProcess.cpp - the compiler as a child process --------------===//

#include "runtime/train/CompilerProcess.h"

#include "runtime/program/Program.h"
#include "runtime/support/File.h"
#include "runtime/support/Interrupt.h"
#include "runtime/support/Print.h"
#include "runtime/train/Progress.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace smet::rt {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

fs::path findCompiler() {
  if (const char *chosen = std::getenv("SMET_COMPILE"); chosen && *chosen)
    return chosen;
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / "smet-compile";
}

fs::path cacheFolder(const fs::path &chosen) {
  if (!chosen.empty())
    return chosen;
  if (const char *xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg)
    return fs::path(xdg) / "smet";
  const char *home = std::getenv("HOME");
  return (home && *home ? fs::path(home) / ".cache" : fs::temp_directory_path()) / "smet";
}

CompilerProcess compilerFor(const fs::path &cache) {
  return {findCompiler(), cacheFolder(cache) / "programs", {}, stderr};
}

namespace {

/// The folder of one compilation: request.json, stdout, log. Removed unless kept.
class WorkFolder {
public:
  static Expected<WorkFolder> create(const fs::path &cache) {
    std::error_code error;
    fs::create_directories(cache, error);
    std::string name = (cache / "compile-XXXXXX").string();
    if (error || !mkdtemp(name.data()))
      return fail("{}: the cache folder cannot be written: {}; choose another with --cache-dir", cache.string(),
                  error ? error.message() : std::strerror(errno));
    return WorkFolder(name);
  }
  WorkFolder(WorkFolder &&other) noexcept : folder(std::exchange(other.folder, {})) {}
  ~WorkFolder() {
    std::error_code error;
    if (!folder.empty())
      fs::remove_all(folder, error);
  }

  std::string file(std::string_view name) const { return (folder / name).string(); }
  std::string text(std::string_view name) const { return readFile(folder / name).value_or(""); }
  /// Leaves the folder for the user to look at.
  std::string keep() { return std::exchange(folder, {}).string(); }

private:
  explicit WorkFolder(fs::path folder) : folder(std::move(folder)) {}
  fs::path folder;
};

} // namespace

/// This process's environment with temporary files in `work`, so that nothing is left of a child that is stopped.
static std::vector<std::string> environmentFor(const WorkFolder &work) {
  std::vector<std::string> variables = {"TMPDIR=" + work.file("")};
  for (char **variable = environ; *variable; ++variable)
    if (!std::string_view(*variable).starts_with("TMPDIR="))
      variables.push_back(*variable);
  return variables;
}

/// The null-terminated array that exec takes; it points into `words`.
static std::vector<char *> pointersTo(const std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts the program with stdout and stderr in files of `work`.
static Expected<pid_t> spawn(const std::vector<std::string> &command, const WorkFolder &work) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, work.file("stdout").c_str(), O_WRONLY | O_CREAT, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, work.file("log").c_str(), O_WRONLY | O_CREAT, 0644);
  std::vector<std::string> variables = environmentFor(work);
  pid_t child = 0;
  int error = posix_spawn(&child, command[0].c_str(), &actions, nullptr, pointersTo(command).data(),
                          pointersTo(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return fail("the compiler {} cannot be started: {}; it belongs beside smet, or name it in $SMET_COMPILE",
                command[0], std::strerror(error));
  return child;
}

static std::string lastLine(const std::string &text) {
  size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos)
    return "";
  size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? -1 : begin));
}

/// What the child does: tuning, of which it says itself how far it is, or compiling for `time`.
static std::string activity(const std::string &log, const std::string &time) {
  std::string last = lastLine(log);
  return last.starts_with("tuning: ") ? last : "compiling ..." + time;
}

namespace {

/// Tells what the child does, from the third second on: every second in place on a terminal, else in a plain line
/// every few seconds, when there is something new.
class ActivityDisplay {
public:
  explicit ActivityDisplay(std::FILE *file) : file(file), terminal(file && isatty(fileno(file)) == 1) {}

  void update(const WorkFolder &work) {
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
    if (!file || seconds < next)
      return;
    next = seconds + (terminal ? 1 : 5);
    std::string now = activity(work.text("log"), terminal ? " " + durationText(double(seconds)) : "");
    if (terminal)
      print(file, "\r\x1b[K{} ", now);
    else if (now != last)
      print(file, "{}\n", now);
    last = now;
    std::fflush(file);
  }
  void clear() {
    if (terminal && !last.empty())
      print(file, "\r\x1b[K");
  }

private:
  std::FILE *file;
  bool terminal;
  Clock::time_point start = Clock::now();
  int64_t next = 2; ///< second to tell something at
  std::string last;
};

} // namespace

/// Waits for the child. An interrupt ends it. The status of waitpid.
static int waitFor(pid_t child, std::FILE *progress, const WorkFolder &work) {
  ActivityDisplay display(progress);
  bool ended = false;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (Interrupt::signal() && !std::exchange(ended, true))
      kill(child, SIGTERM); // Ctrl-C reaches both, a SIGTERM only us
    if (!ended)
      display.update(work);
  }
  if (!ended)
    display.clear();
  return status;
}

/// The compiler's own messages of one kind: what follows "warning: " on its lines.
static std::string messageLines(const std::string &log, std::string_view kind) {
  std::string messages;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kind))
      messages += (messages.empty() ? "" : "\n") + line.substr(kind.size());
  return messages;
}

/// The errors with the lines that explain them: all that follows the first one, without messages of other kinds.
static std::string errorLines(const std::string &log) {
  constexpr std::string_view kind = "error: ";
  std::string messages;
  bool follows = false;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    bool starts = line.starts_with(kind);
    follows = starts || (follows && !line.starts_with("warning: ") && !line.starts_with("remark: "));
    if (follows)
      messages += (messages.empty() ? "" : "\n") + line.substr(starts ? kind.size() : 0);
  }
  return messages;
}

static void forwardWarnings(const std::string &log) {
  std::istringstream warnings(messageLines(log, "warning: "));
  for (std::string line; std::getline(warnings, line);)
    print(stderr, "smet: warning: {}\n", line);
}

/// "compiled 26 kernels, 22 from the cache, 1.8 s", nothing when the program was there; before it what was tuned.
static void forwardReport(const std::string &log, std::FILE *progress) {
  for (std::string_view start : {"tuned ", "compiled "})
    if (std::string line = messageLines(log, start); progress && !line.empty())
      print(progress, "{}{}\n", start, line);
}

/// What to tell when the child has failed.
static std::unexpected<Error> explain(int status, WorkFolder &work) {
  std::string messages = errorLines(work.text("log"));
  if (Status going = checkInterrupt("compiling"); !going)
    return std::unexpected(going.error());
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
    return fail("the compiler was stopped by {}", signalText(WTERMSIG(status)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && !messages.empty())
    return std::unexpected(Error{messages});
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) // by ld.so: a library of the compiler is missing
    return fail("the compiler cannot be started: {}", lastLine(work.text("log")));
  std::string how = WIFSIGNALED(status)
                        ? fmt::format("crashed with signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                        : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return fail("the compiler {}; this is a bug in smet, not in your input. Please report it with the request and the "
              "log that are kept in {}",
              how, work.keep());
}

/// Runs the compiler to its end.
static Status runCompiler(const std::vector<std::string> &command, std::FILE *progress, WorkFolder &work) {
  Expected<pid_t> child = spawn(command, work);
  if (!child)
    return std::unexpected(child.error());
  int status = waitFor(*child, progress, work);
  forwardWarnings(work.text("log"));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return explain(status, work);
  return {};
}

Expected<std::string> CompilerProcess::ptxasVersion() const {
  Expected<WorkFolder> work = WorkFolder::create(cache);
  if (!work)
    return std::unexpected(work.error());
  if (Status asked = runCompiler({compiler.string(), "--ptxas-version"}, /*progress=*/nullptr, *work); !asked)
    return std::unexpected(asked.error());
  return work->text("stdout");
}

Expected<fs::path> CompilerProcess::compile(const nlohmann::json &request) const {
  auto program = runOnce(request);
  if (!program)
    return program;
  std::error_code error;
  Status whole = Program::check(*program);
  if (whole || !fs::equivalent(program->parent_path(), cache, error))
    return program;
  print(stderr, "smet: warning: {}; it is compiled again now\n", whole.error().message);
  fs::remove(*program, error);
  return runOnce(request);
}

Expected<fs::path> CompilerProcess::runOnce(const nlohmann::json &request) const {
  Expected<WorkFolder> work = WorkFolder::create(cache);
  if (!work)
    return std::unexpected(work.error());
  if (Status status = writeFileAtomically(work->file("request.json"), request.dump(2) + "\n"); !status)
    return std::unexpected(status.error());

  std::vector<std::string> command = {compiler.string(), "--request", work->file("request.json"), "--cache",
                                      cache.string()};
  if (!dumpIr.empty())
    command.insert(command.end(), {"--dump-ir", dumpIr.string()});
  if (Status done = runCompiler(command, progress, *work); !done)
    return std::unexpected(done.error());
  forwardReport(work->text("log"), progress);

  fs::path program = lastLine(work->text("stdout"));
  std::error_code error;
  if (!fs::is_regular_file(program, error))
    return fail("the compiler named no program file; its request and log are kept in {}", work->keep());
  return program;
}

} // namespace smet::rt
