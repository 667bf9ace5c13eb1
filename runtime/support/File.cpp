//===- File.cpp -----------------------------------------------------------===//

#include "runtime/support/File.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smet::rt {
namespace {

/// What to do about an errno value, for the end of a message.
std::string_view advice(int code) {
  switch (code) {
  case ENOSPC:
  case EDQUOT:
    return "; free some space there or choose another folder";
  case EACCES:
  case EPERM:
  case EROFS:
    return "; choose a folder that you may write to";
  case ENOENT:
  case ENOTDIR:
    return "; check that the folder exists";
  default:
    return "";
  }
}

std::unexpected<Error> failIO(std::string_view what, const std::filesystem::path &path) {
  int code = errno;
  return fail("cannot {} '{}': {}{}", what, path.string(), std::strerror(code), advice(code));
}

std::filesystem::path folderOf(const std::filesystem::path &path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

} // namespace

Expected<std::string> readFile(const std::filesystem::path &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failIO("open", path);
  std::string contents;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && status.st_size > 0)
    contents.reserve(status.st_size);
  char buffer[1 << 16];
  ssize_t got;
  while ((got = read(descriptor, buffer, sizeof(buffer))) != 0) {
    if (got > 0) {
      contents.append(buffer, got);
    } else if (errno != EINTR) {
      auto error = failIO("read", path);
      close(descriptor);
      return error;
    }
  }
  close(descriptor);
  return contents;
}

void syncFolder(const std::filesystem::path &folder) {
  int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  fsync(descriptor);
  close(descriptor);
}

Expected<FolderLock> FolderLock::take(const std::filesystem::path &folder) {
  int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return failIO("open", folder);
  FolderLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return fail("another process works in '{}'; wait for its end or choose another folder", folder.string());
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor >= 0)
    close(descriptor);
}

Status writeFileAtomically(const std::filesystem::path &path, std::string_view contents) {
  auto file = AtomicFile::create(path);
  if (!file)
    return std::unexpected(file.error());
  if (auto written = file->write(contents); !written)
    return written;
  return file->commit();
}

AtomicFile::AtomicFile(std::filesystem::path path, std::string temporary, int descriptor)
    : path(std::move(path)), temporary(std::move(temporary)), descriptor(descriptor) {}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {
  other.temporary.clear();
}

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Expected<AtomicFile> AtomicFile::create(const std::filesystem::path &name) {
  std::error_code error;
  // A link keeps pointing to what it names; a rename would replace it.
  std::filesystem::path path =
      std::filesystem::is_symlink(name, error) ? std::filesystem::canonical(name, error) : name;
  if (path.empty())
    return fail("cannot write '{}': {}; the link leads nowhere", name.string(), error.message());
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    return fail("cannot write '{}': it is not a regular file; choose another name", name.string());
  std::string temporary = path.string() + ".tmp-XXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return failIO("write", path);
  // mkostemp makes files private; ours are ordinary ones.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  return AtomicFile(path, std::move(temporary), descriptor);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put >= 0)
      bytes = bytes.subspan(put);
    else if (errno != EINTR)
      return failIO("write", path);
  }
  return {};
}

Status AtomicFile::commit() {
  if (fsync(descriptor) != 0)
    return failIO("write", path);
  int closed = close(std::exchange(descriptor, -1));
  if (closed != 0)
    return failIO("write", path);
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return failIO("write", path);
  temporary.clear();
  syncFolder(folderOf(path));
  return {};
}

} // namespace smet::rt
