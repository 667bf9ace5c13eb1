//===- Interrupt.cpp - Ctrl-C and SIGTERM ---------------------------------===//

#include "runtime/train/Interrupt.h"

#include <atomic>
#include <unistd.h>

namespace smet::rt {

static std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

static void onSignal(int signal) {
  if (received.exchange(signal) != 0)
    _exit(128 + signal);
}

Interrupt::Interrupt() {
  received = 0;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &oldInt);
  sigaction(SIGTERM, &action, &oldTerm);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &oldInt, nullptr);
  sigaction(SIGTERM, &oldTerm, nullptr);
}

int Interrupt::signal() const { return received; }

} // namespace smet::rt
