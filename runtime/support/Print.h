//===- Print.h - formatted output that cannot fail --------------*- C++ -*-===//
#ifndef SMET_RUNTIME_SUPPORT_PRINT_H
#define SMET_RUNTIME_SUPPORT_PRINT_H

#include <fmt/format.h>

#include <cstdio>

namespace smet::rt {

/// fmt::print without its exception: text that cannot be written (a full disk, a terminal that was closed) must not end
/// a run. The stream's error flag remembers it.
template <typename... Args> void print(std::FILE *to, fmt::format_string<Args...> text, Args &&...args) {
  std::string line = fmt::format(text, std::forward<Args>(args)...);
  std::fwrite(line.data(), 1, line.size(), to);
}

template <typename... Args> void print(fmt::format_string<Args...> text, Args &&...args) {
  rt::print(stdout, text, std::forward<Args>(args)...);
}

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_PRINT_H
