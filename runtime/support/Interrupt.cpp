//===- Interrupt.cpp - Ctrl-C, SIGTERM, a closed terminal -----------------===//

#include "runtime/support/Interrupt.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace smet::rt {

static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
static constexpr const char *kStopping = "stopping";

static std::atomic<int> received = 0;
static std::atomic<const char *> answer = kStopping;
static std::atomic<bool> terminal = false; ///< then "^C" stands on the line
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<const char *>::is_always_lock_free,
              "the signal handler uses them");

std::string_view signalText(int signal) {
  return signal == SIGINT ? "Ctrl-C" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

/// Only what a signal handler may do: write(2), no stdio.
static void writeError(std::string_view text) { [[maybe_unused]] ssize_t put = write(2, text.data(), text.size()); }

static void onSignal(int signal) {
  if (received.exchange(signal) != 0)
    _exit(128 + signal);
  int error = errno;
  char line[200];
  size_t size = 0;
  for (std::string_view part :
       {std::string_view(terminal ? "\nsmet: " : "smet: "), signalText(signal), std::string_view(": "),
        std::string_view(answer.load()), std::string_view("; a second one ends at once\n")}) {
    size_t put = std::min(part.size(), sizeof(line) - size);
    std::memcpy(line + size, part.data(), put);
    size += put;
  }
  writeError({line, size});
  errno = error;
}

Interrupt::Interrupt() {
  received = 0;
  answer = kStopping;
  terminal = isatty(2) == 1;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < old.size(); ++i) {
    sigaction(kSignals[i], nullptr, &old[i]);
    if (old[i].sa_handler != SIG_IGN)
      sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < old.size(); ++i)
    sigaction(kSignals[i], &old[i], nullptr);
  received = 0;
}

int Interrupt::signal() { return received; }

void Interrupt::willDo(const char *what) { answer = what ? what : kStopping; }

Status checkInterrupt(std::string_view doing) {
  int signal = Interrupt::signal();
  if (!signal)
    return {};
  return std::unexpected(Error{fmt::format("stopped by {} while {}", signalText(signal), doing), signal});
}

} // namespace smet::rt
