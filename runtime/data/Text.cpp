//===- Text.cpp -----------------------------------------------------------===//

#include "runtime/data/Text.h"

#include "runtime/support/Hash.h"
#include "runtime/support/MappedFile.h"

#include <algorithm>

namespace smet::rt {
namespace {

namespace fs = std::filesystem;

constexpr size_t pieceBytes = 1 << 20;

std::string_view asText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

bool isContinuation(char c) { return (uint8_t(c) & 0xc0) == 0x80; }

/// The length of the code point at the start of `text`, 0 if there is no whole, valid one.
size_t codePointLength(std::string_view text) {
  uint8_t first = text[0];
  if (first < 0x80)
    return 1;
  size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length || !std::ranges::all_of(text.substr(1, length - 1), isContinuation))
    return 0;
  uint8_t second = text[1];
  bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool surrogate = first == 0xed && second >= 0xa0;
  bool tooLarge = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || tooLarge ? 0 : length;
}

Status readDocument(const fs::path &path, const TextFiles::Visitor &visit) {
  auto file = MappedFile::open(path);
  if (!file)
    return std::unexpected(file.error());
  std::string_view text = asText(file->bytes());
  size_t offset = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  for (bool start = true; offset < text.size(); start = false) {
    std::string_view rest = text.substr(offset);
    // Validated before the cut, which walks back over continuation bytes; 3 more bytes may complete a code point.
    std::string_view window = rest.substr(0, pieceBytes + 3);
    size_t valid = validUtf8Prefix(window);
    if (valid < std::min(window.size(), pieceBytes))
      return fail("'{}' is not UTF-8: invalid byte 0x{:02x} at offset {}; convert the file, for example with iconv",
                  path.string(), uint8_t(rest[valid]), offset + valid);
    size_t end = pieceEnd(rest, pieceBytes);
    if (auto visited = visit(rest.substr(0, end), start); !visited)
      return visited;
    offset += end;
  }
  return {};
}

} // namespace

Expected<TextFiles> TextFiles::find(const fs::path &path) {
  TextFiles files;
  std::error_code code;
  if (fs::is_directory(path, code)) {
    fs::directory_iterator entries(path, code);
    if (code)
      return fail("cannot read the data folder '{}': {}", path.string(), code.message());
    for (const fs::directory_entry &entry : entries)
      if (entry.path().extension() == ".txt" && entry.is_regular_file(code))
        files.paths.push_back(entry.path());
    if (files.paths.empty())
      return fail("the data folder '{}' has no *.txt file", path.string());
    std::ranges::sort(files.paths);
  } else {
    if (!fs::exists(path, code))
      return fail("the data '{}' does not exist; --data takes a text file or a folder of *.txt files", path.string());
    files.paths.push_back(path);
  }
  for (const fs::path &file : files.paths) {
    auto mapped = MappedFile::open(file);
    if (!mapped)
      return std::unexpected(mapped.error());
    files.bytes += mapped->bytes().size();
  }
  if (files.bytes == 0)
    return fail("the data '{}' is empty", path.string());
  return files;
}

Status TextFiles::read(const Visitor &visit) const {
  for (const fs::path &path : paths)
    if (auto status = readDocument(path, visit); !status)
      return status;
  return {};
}

Expected<std::string> TextFiles::hash() const {
  Sha256 hash;
  for (const fs::path &path : paths) {
    auto file = MappedFile::open(path);
    if (!file)
      return std::unexpected(file.error());
    hash.update(fmt::format("{}:", file->bytes().size()));
    file->walk(file->bytes(), [&](std::span<const std::byte> part) { hash.update(part); });
  }
  return hash.finish();
}

size_t pieceEnd(std::string_view text, size_t limit) {
  if (text.size() <= limit)
    return text.size();
  std::string_view window = text.substr(0, limit);
  if (size_t line = window.rfind('\n'); line != window.npos)
    return line + 1;
  if (size_t space = window.rfind(' '); space != window.npos && space != 0)
    return space;
  size_t end = limit;
  while (isContinuation(text[end]))
    --end;
  return end;
}

size_t validUtf8Prefix(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    size_t length = codePointLength(text.substr(end));
    if (length == 0)
      break;
    end += length;
  }
  return end;
}

int64_t countCodePoints(std::string_view text) { return std::ranges::count_if(text, std::not_fn(isContinuation)); }

} // namespace smet::rt
