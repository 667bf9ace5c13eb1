//===- Peer.cpp - starting and asking a child process ---------------------===//
#include "Peer.h"

#include "runtime/support/Interrupt.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smet::bench {

namespace fs = std::filesystem;

static std::string nameOf(const std::string &what) {
  size_t equals = what.find('=');
  return equals == std::string::npos ? fs::path(what).filename().string() : what.substr(0, equals);
}

/// The command line of a peer for the shell.
static rt::Expected<std::string> commandOf(const std::string &what) {
  if (size_t equals = what.find('='); equals != std::string::npos)
    return what.substr(equals + 1);
  std::error_code error;
  std::string self = fs::read_symlink("/proc/self/exe", error).string();
  if (what != "onednn" && !fs::exists(what, error))
    return rt::fail("--baseline {}: not 'onednn', a shared library or NAME=COMMAND", what);
  return fmt::format("exec '{}' serve --library '{}'", self, what);
}

/// A pair of ends, the first for reading; closed in other children.
static bool openPipe(int (&ends)[2]) { return pipe2(ends, O_CLOEXEC) == 0; }

/// While this lives, what the calling thread starts may use the first `count` of its processors only: libraries count
/// threads by variables of their own, but none more than it has processors.
class FewProcessors {
public:
  explicit FewProcessors(int64_t count) {
    if (sched_getaffinity(0, sizeof(before), &before))
      return;
    cpu_set_t few;
    CPU_ZERO(&few);
    for (int cpu = 0; cpu < CPU_SETSIZE && count > 0; ++cpu)
      if (CPU_ISSET(cpu, &before)) {
        CPU_SET(cpu, &few);
        --count;
      }
    isSet = sched_setaffinity(0, sizeof(few), &few) == 0;
  }
  ~FewProcessors() {
    if (isSet)
      sched_setaffinity(0, sizeof(before), &before);
  }
  FewProcessors(const FewProcessors &) = delete;

private:
  cpu_set_t before;
  bool isSet = false;
};

rt::Status Peer::check(const std::string &what) {
  auto command = commandOf(what);
  return command ? rt::Status() : std::unexpected(command.error());
}

rt::Status Peer::checkNames(const std::vector<std::string> &baselines) {
  for (auto it = baselines.begin(); it != baselines.end(); ++it)
    for (auto before = baselines.begin(); before != it; ++before)
      if (nameOf(*before) == nameOf(*it))
        return rt::fail("two --baseline are named '{}'; leave one out, or give it another name: NAME=COMMAND",
                        nameOf(*it));
  return {};
}

rt::Expected<std::unique_ptr<Peer>> Peer::start(const std::string &what, const nlohmann::json &job) {
  auto command = commandOf(what);
  if (!command)
    return std::unexpected(command.error());
  signal(SIGPIPE, SIG_IGN); // a peer that has ended is an error message
  std::unique_ptr<Peer> peer(new Peer);
  peer->theName = nameOf(what);
  int request[2], answer[2];
  if (!openPipe(request) || !openPipe(answer))
    return rt::fail("cannot open a pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, request[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer[1], STDOUT_FILENO);
  // Between its measurements a peer must not spin: others are measured then.
  std::string script = fmt::format("export OMP_NUM_THREADS={0} MKL_NUM_THREADS={0} OMP_WAIT_POLICY=passive "
                                   "KMP_BLOCKTIME=0 OMP_DYNAMIC=false MKL_DYNAMIC=false; {1}",
                                   job.at("threads").get<int64_t>(), *command);
  const char *arguments[] = {"sh", "-c", script.c_str(), nullptr};
  posix_spawnattr_t group; // of its own, so that all of it can be ended
  posix_spawnattr_init(&group);
  posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
  int error = 0;
  {
    FewProcessors few(job.at("threads").get<int64_t>());
    error = posix_spawn(&peer->child, "/bin/sh", &actions, &group, const_cast<char **>(arguments), environ);
  }
  posix_spawnattr_destroy(&group);
  posix_spawn_file_actions_destroy(&actions);
  close(request[0]);
  close(answer[1]);
  peer->to = fdopen(request[1], "w");
  peer->from = answer[0];
  if (error)
    return rt::fail("{} cannot be started: {}", peer->theName, std::strerror(error));
  auto ready = peer->ask(job.dump());
  if (!ready)
    return std::unexpected(ready.error());
  if (*ready != "ready")
    return rt::fail("{}: expected 'ready', got '{}'", peer->theName, *ready);
  return peer;
}

Peer::~Peer() {
  if (to)
    std::fclose(to);
  if (from >= 0)
    close(from);
  if (child <= 0)
    return;
  kill(-child, SIGTERM); // it may be in the middle of a measurement, and has nothing to save
  constexpr int tries = 100, microseconds = 10'000;
  siginfo_t info = {};
  for (int i = 0; i < tries; ++i) {
    // While it is not waited for, its group keeps its number.
    if (waitid(P_PID, id_t(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child)
      break;
    usleep(microseconds);
  }
  kill(-child, SIGKILL); // what does not end by the first signal, children of its own included
  waitpid(child, nullptr, 0);
}

rt::Expected<std::string> Peer::readLine() const {
  using Clock = std::chrono::steady_clock;
  constexpr int milliseconds = 100;
  constexpr std::chrono::seconds limit(5);
  std::string line;
  Clock::time_point begun;
  while (!line.ends_with('\n')) {
    pollfd answer{from, POLLIN, 0};
    char next = 0;
    if (poll(&answer, 1, milliseconds) > 0) {
      if (read(from, &next, 1) <= 0)
        return rt::fail("{} ended; its messages are above", theName);
      if (line.empty())
        begun = Clock::now();
      line += next;
    } else if (rt::Status going = rt::checkInterrupt("measuring"); !going) {
      return std::unexpected(going.error());
    }
    if (!line.empty() && Clock::now() - begun > limit)
      return rt::fail("{}: the line '{}' was not ended within {} seconds; an answer is a whole line, flushed", theName,
                      line, limit.count());
  }
  line.pop_back();
  return line;
}

rt::Expected<std::string> Peer::ask(const std::string &line) {
  std::fprintf(to, "%s\n", line.c_str());
  std::fflush(to);
  auto answer = readLine();
  if (answer && answer->starts_with("error"))
    return rt::fail("{}: {}", theName, *answer);
  return answer;
}

rt::Expected<double> Peer::run(size_t layer, std::string_view op) {
  auto answer = ask(fmt::format("{} {}", layer, op));
  if (!answer)
    return std::unexpected(answer.error());
  if (*answer == "none")
    return std::numeric_limits<double>::quiet_NaN();
  char *end = nullptr;
  double seconds = std::strtod(answer->c_str(), &end);
  if (*end || !(seconds > 0))
    return rt::fail("{}: expected a number, got '{}'", theName, *answer);
  return seconds;
}

} // namespace smet::bench
