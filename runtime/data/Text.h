//===- Text.h - training text: files, UTF-8 ---------------------*- C++ -*-===//
//
// A data set is one text file or a folder of *.txt files, each a document. Text is read in pieces of bounded size, so
// memory does not grow with the data.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_DATA_TEXT_H
#define SMET_RUNTIME_DATA_TEXT_H

#include "runtime/support/Error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smet::rt {

/// The text files of a data set, in the order in which they are read.
struct TextFiles {
  std::vector<std::filesystem::path> paths;
  int64_t bytes = 0; ///< of all of them, at least 1

  /// The file `path`, or the *.txt of the folder `path` (not of its subfolders) sorted by name. Missing, unreadable
  /// or empty data is an error.
  static Expected<TextFiles> find(const std::filesystem::path &path);

  /// Receives the text in order, one piece of at most 1 MiB at a time; `documentStart` at the first of a file.
  using Visitor = std::function<Status(std::string_view piece, bool documentStart)>;

  /// Reads everything. Pieces end at pieceEnd. A byte order mark at the start of a file is dropped. Bytes that are not
  /// UTF-8 are an error that names file and offset; so is whatever `visit` returns.
  Status read(const Visitor &visit) const;

  /// SHA-256 over the files' sizes and bytes, in order.
  Expected<std::string> hash() const;
};

/// Where to end a piece of at most `limit` bytes (4 or more) of valid UTF-8: behind the last line break in reach, else
/// before the last space, else between two code points.
size_t pieceEnd(std::string_view text, size_t limit);

/// The length of the longest prefix of whole, valid UTF-8 code points (RFC 3629: no surrogates, no overlong forms).
size_t validUtf8Prefix(std::string_view text);

/// The number of code points of valid UTF-8.
int64_t countCodePoints(std::string_view text);

} // namespace smet::rt

#endif // SMET_RUNTIME_DATA_TEXT_H
