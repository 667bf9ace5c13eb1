//===- Error.h - errors as values -------------------------------*- C++ -*-===//
//
// Library code of the runtime returns Expected<T>; nothing below tools/ exits or aborts. A message says what, where
// (file, line or byte) and what to do.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_SUPPORT_ERROR_H
#define SMET_RUNTIME_SUPPORT_ERROR_H

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

namespace smet::rt {

struct Error {
  std::string message;
  int signal = 0; ///< of an interruption by the user, which is no fault: the signal; 0 otherwise
};

template <typename T> using Expected = std::expected<T, Error>;
using Status = Expected<void>;

/// `return fail("{}: line {}: ...", path, line);`
template <typename... Args> std::unexpected<Error> fail(fmt::format_string<Args...> text, Args &&...args) {
  return std::unexpected<Error>(Error{fmt::format(text, std::forward<Args>(args)...)});
}

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_ERROR_H
