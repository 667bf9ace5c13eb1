//===- Peer.cpp - starting and asking a child process ---------------------===//
#include "Peer.h"

#include "runtime/support/Interrupt.h"

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

/// The command line of a peer for the shell, and its name.
static rt::Expected<std::pair<std::string, std::string>> commandOf(const std::string &what) {
  if (size_t equals = what.find('='); equals != std::string::npos)
    return std::pair(what.substr(0, equals), what.substr(equals + 1));
  std::error_code error;
  std::string self = fs::read_symlink("/proc/self/exe", error).string();
  if (what != "onednn" && !fs::exists(what, error))
    return rt::fail("--baseline {}: not 'onednn', a shared library or NAME=COMMAND", what);
  std::string name = what == "onednn" ? what : fs::path(what).filename().string();
  return std::pair(name, fmt::format("exec '{}' serve --library '{}'", self, what));
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

rt::Expected<std::unique_ptr<Peer>> Peer::start(const std::string &what, const nlohmann::json &job) {
  auto command = commandOf(what);
  if (!command)
    return std::unexpected(command.error());
  signal(SIGPIPE, SIG_IGN); // a peer that has ended is an error message
  std::unique_ptr<Peer> peer(new Peer);
  peer->theName = command->first;
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
                                   job.at("threads").get<int64_t>(), command->second);
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
  peer->from = fdopen(answer[0], "r");
  setvbuf(peer->from, nullptr, _IONBF, 0); // what poll does not see must not be waiting here
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
  for (std::FILE *end : {to, from})
    if (end)
      std::fclose(end);
  if (child > 0) {
    kill(-child, SIGTERM); // it may be in the middle of a measurement, and has nothing to save
    constexpr int tries = 100, microseconds = 10'000;
    for (int i = 0; i < tries; ++i) {
      if (waitpid(child, nullptr, WNOHANG) == child)
        return;
      usleep(microseconds);
    }
    kill(-child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

rt::Status Peer::waitForAnswer() const {
  pollfd answer{fileno(from), POLLIN, 0};
  constexpr int milliseconds = 100;
  while (poll(&answer, 1, milliseconds) <= 0)
    if (rt::Status going = rt::checkInterrupt("measuring"); !going)
      return going;
  return {};
}

rt::Expected<std::string> Peer::ask(const std::string &line) {
  std::fprintf(to, "%s\n", line.c_str());
  std::fflush(to);
  if (rt::Status answered = waitForAnswer(); !answered)
    return std::unexpected(answered.error());
  char *text = nullptr;
  size_t size = 0;
  ssize_t length = getline(&text, &size, from);
  std::string answer(text ? text : "", length > 0 ? size_t(length) : 0);
  std::free(text);
  while (!answer.empty() && answer.back() == '\n')
    answer.pop_back();
  if (length <= 0)
    return rt::fail("{} ended; its messages are above", theName);
  if (answer.starts_with("error"))
    return rt::fail("{}: {}", theName, answer);
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
