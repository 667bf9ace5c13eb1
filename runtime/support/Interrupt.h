//===- Interrupt.h - Ctrl-C, SIGTERM, a closed terminal ---------*- C++ -*-===//
#ifndef SMET_RUNTIME_SUPPORT_INTERRUPT_H
#define SMET_RUNTIME_SUPPORT_INTERRUPT_H

#include "runtime/support/Error.h"

#include <array>
#include <csignal>
#include <string_view>

namespace smet::rt {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is noted and answered at once with a line on stderr, so that
/// work can end in order: whoever works long asks signal() or checkInterrupt(). A second one ends the process at once
/// with exit code 128 + signal. Signals that the process was started to ignore (nohup) stay ignored. One at a time.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  /// The signal that arrived, or 0; 0 too while no Interrupt lives.
  static int signal();
  /// What will be done about a first signal, for the answer: "stopping" unless this says otherwise. Null: that again.
  static void willDo(const char *what);

private:
  std::array<struct sigaction, 3> old;
};

/// "Ctrl-C", "SIGTERM", ...
std::string_view signalText(int signal);

/// An interrupted error once a signal has arrived: "stopped by Ctrl-C while <doing>".
Status checkInterrupt(std::string_view doing);

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_INTERRUPT_H
