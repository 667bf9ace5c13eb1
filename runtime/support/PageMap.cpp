//===- PageMap.cpp --------------------------------------------------------===//

#include "runtime/support/PageMap.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fcntl.h>
#include <unistd.h>

namespace smet::rt {
namespace {

class PageMap {
public:
  PageMap() : file(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  PageMap(const PageMap &) = delete;
  ~PageMap() {
    if (file >= 0)
      close(file);
  }

  /// Reads what the map says of pages from `page` on; false when it cannot.
  bool read(uint64_t page, std::span<uint64_t> entries) const {
    return pread(file, entries.data(), entries.size_bytes(), off_t(page * 8)) == ssize_t(entries.size_bytes());
  }

private:
  int file;
};

/// In memory (bit 63), or swapped out (62).
bool isTouched(uint64_t entry) { return entry >> 62 != 0; }

/// Adds a part, which may go on from the last one.
void append(std::vector<std::span<char>> &parts, std::span<char> part) {
  if (!parts.empty() && parts.back().data() + parts.back().size() == part.data())
    parts.back() = {parts.back().data(), part.data() + part.size()};
  else
    parts.push_back(part);
}

} // namespace

std::vector<std::span<char>> touchedParts(std::span<char> bytes) {
  PageMap map;
  const auto size = uint64_t(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uint64_t>(bytes.data()), end = first + bytes.size();
  const uint64_t lastPage = (end + size - 1) / size;
  std::vector<std::span<char>> parts;
  std::array<uint64_t, 4096> buffer;
  for (uint64_t page = first / size; page < lastPage; page += buffer.size()) {
    auto entries = std::span(buffer).first(std::min<uint64_t>(buffer.size(), lastPage - page));
    if (!map.read(page, entries))
      return {bytes};
    for (size_t i = 0; i < entries.size(); ++i) {
      uint64_t from = std::max(first, (page + i) * size), to = std::min(end, (page + i + 1) * size);
      if (isTouched(entries[i]))
        append(parts, bytes.subspan(from - first, to - from));
    }
  }
  return parts;
}

} // namespace smet::rt
