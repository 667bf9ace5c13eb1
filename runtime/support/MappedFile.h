//===- MappedFile.h - a file as read-only memory ----------------*- C++ -*-===//
//
// Maps a whole file. Pages are read when they are touched, so a file larger than memory can be walked.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_SUPPORT_MAPPEDFILE_H
#define SMET_RUNTIME_SUPPORT_MAPPEDFILE_H

#include "runtime/support/Error.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

namespace smet::rt {

class MappedFile {
public:
  static Expected<MappedFile> open(const std::filesystem::path &path);
  MappedFile(MappedFile &&other) noexcept : data(std::exchange(other.data, {})) {}
  MappedFile &operator=(MappedFile &&other) noexcept {
    std::swap(data, other.data);
    return *this;
  }
  ~MappedFile();

  /// Valid as long as this object lives; its address survives a move.
  std::span<const std::byte> bytes() const { return data; }

  /// Calls `use` with consecutive parts of `range`, which lies in bytes(), and gives the memory of each back, so that
  /// one walk through a large file does not count as memory of this process.
  void walk(std::span<const std::byte> range, const std::function<void(std::span<const std::byte>)> &use) const;

private:
  explicit MappedFile(std::span<const std::byte> data) : data(data) {}

  std::span<const std::byte> data;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_MAPPEDFILE_H
