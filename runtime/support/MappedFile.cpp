//===- MappedFile.cpp -----------------------------------------------------===//

#include "runtime/support/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smet::rt {

Expected<MappedFile> MappedFile::open(const std::filesystem::path &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return fail("cannot open '{}': {}", path.string(), std::strerror(errno));
  struct stat status;
  void *data = MAP_FAILED;
  int code = 0;
  if (fstat(descriptor, &status) != 0)
    code = errno;
  else if (!S_ISREG(status.st_mode))
    code = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  else if (status.st_size > 0 && // mmap refuses empty files
           (data = mmap(nullptr, status.st_size, PROT_READ, MAP_SHARED, descriptor, 0)) == MAP_FAILED)
    code = errno;
  close(descriptor);
  if (code != 0)
    return fail("cannot read '{}': {}", path.string(), std::strerror(code));
  if (data == MAP_FAILED)
    return MappedFile({});
  return MappedFile({static_cast<const std::byte *>(data), size_t(status.st_size)});
}

void MappedFile::walk(std::span<const std::byte> range,
                      const std::function<void(std::span<const std::byte>)> &use) const {
  constexpr size_t part = 4 << 20; // a multiple of the page size, counted from the start of the file
  size_t offset = range.data() - data.data(), end = offset + range.size();
  while (offset < end) {
    size_t start = offset / part * part, next = std::min(start + part, end);
    use(data.subspan(offset, next - offset));
    madvise(const_cast<std::byte *>(data.data()) + start, next - start, MADV_DONTNEED);
    offset = next;
  }
}

MappedFile::~MappedFile() {
  if (!data.empty())
    munmap(const_cast<std::byte *>(data.data()), data.size());
}

} // namespace smet::rt
