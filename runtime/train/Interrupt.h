//===- Interrupt.h - Ctrl-C and SIGTERM -------------------------*- C++ -*-===//
#ifndef SMET_RUNTIME_TRAIN_INTERRUPT_H
#define SMET_RUNTIME_TRAIN_INTERRUPT_H

#include <csignal>

namespace smet::rt {

/// While it lives, the first SIGINT or SIGTERM is only noted, so that a step can finish and be saved; the second ends
/// the process at once with exit code 128 + signal. One at a time.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  /// The signal that arrived, or 0.
  int signal() const;

private:
  struct sigaction oldInt, oldTerm;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_INTERRUPT_H
