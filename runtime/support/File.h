//===- File.h - whole files: read, written atomically -----------*- C++ -*-===//
//
// A file that smet writes is either the old one or the new one, never half of either: it is written to a temporary
// name in the same folder, synced and renamed. Folders can be kept to one process.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_SUPPORT_FILE_H
#define SMET_RUNTIME_SUPPORT_FILE_H

#include "runtime/support/Error.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace smet::rt {

/// The bytes of a file.
Expected<std::string> readFile(const std::filesystem::path &path);

/// Replaces `path` by `contents` (AtomicFile for those that fit in memory).
Status writeFileAtomically(const std::filesystem::path &path, std::string_view contents);

/// Makes renames in `folder` durable. Some file systems cannot; that is no error.
void syncFolder(const std::filesystem::path &folder);

/// Keeps a folder to one process, until it is destroyed or the process ends in whatever way.
class FolderLock {
public:
  /// An error when another process has it. File systems without locks let everybody in.
  static Expected<FolderLock> take(const std::filesystem::path &folder);
  FolderLock(FolderLock &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  FolderLock &operator=(FolderLock &&) = delete;
  ~FolderLock();

private:
  explicit FolderLock(int descriptor) : descriptor(descriptor) {}
  int descriptor;
};

/// A file that appears at `path`, or where that link leads, on commit(); without it, nothing changes there. What is there
/// must be a file: a folder or a device is an error.
class AtomicFile {
public:
  static Expected<AtomicFile> create(const std::filesystem::path &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Syncs the data, renames, syncs the folder.
  Status commit();

private:
  AtomicFile(std::filesystem::path path, std::string temporary, int descriptor);

  std::filesystem::path path;
  std::string temporary;
  int descriptor;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_FILE_H
