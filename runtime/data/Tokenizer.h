//===- Tokenizer.h - text to token ids and back -----------------*- C++ -*-===//
//
// SentencePiece behind an interface of its own; nothing else includes its headers.
//
// SentencePiece puts a space before the first word of what it is given, so that this word is the piece that it is
// inside a sentence. A tokenizer with a piece for the line break (those that `smet tokenizer train` makes have one) is
// given a line at a time: the first word of every line gets the space. One without is given the whole text, as LLaMA's
// is.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_DATA_TOKENIZER_H
#define SMET_RUNTIME_DATA_TOKENIZER_H

#include "runtime/support/Error.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smet::rt {

class Tokenizer {
public:
  /// What stands before a text that is encoded.
  enum class Behind { Nothing, LineBreak, Text };

  /// Loads a SentencePiece model (*.model). A missing or damaged file, or one of another format, is an error.
  static Expected<Tokenizer> load(const std::filesystem::path &path);
  Tokenizer(Tokenizer &&) noexcept;
  Tokenizer &operator=(Tokenizer &&) noexcept;
  ~Tokenizer();

  /// The ids of a text, without bos and eos. `text` is UTF-8.
  Expected<std::vector<int32_t>> encode(std::string_view text, Behind behind = Behind::Nothing) const;
  /// The text of ids; control ids (bos, eos) have none. An id outside [0, size()) is an error.
  Expected<std::string> decode(std::span<const int32_t> ids) const;

  /// Number of pieces.
  int32_t size() const;
  /// Ids of the start and the end of a document; -1 where the model has none.
  int32_t bos() const;
  int32_t eos() const;
  /// The code points of the text that `id` stands for behind the id `before`: 0 for a control id and for all but the
  /// first byte of a code point; the space that encoding puts before a first word is none.
  int32_t characters(int32_t id, int32_t before) const;
  /// SHA-256 of the model file. A resumed run must have the same.
  const std::string &hash() const { return fileHash; }

  /// An error if the model's embedding cannot hold every id. More rows than pieces are fine.
  Status checkVocabulary(int64_t modelVocabulary) const;

private:
  struct Model;
  explicit Tokenizer(std::unique_ptr<Model> model);
  Expected<std::vector<int32_t>> encodeLines(std::string_view text, bool lineStart) const;
  Expected<std::vector<int32_t>> encodeUnprefixed(std::string_view text) const;

  std::unique_ptr<Model> model;
  std::string file, fileHash;
  std::vector<int32_t> codePoints; ///< by id
  std::vector<bool> spaced;        ///< by id: starts with a space
  std::vector<int32_t> lineBreak;  ///< ids of "\n" as a whole text; encodeUnprefixed encodes behind it
  int32_t linePiece = -1;          ///< id of the piece "\n", if there is one
  bool addsSpace = false;          ///< before a first word
};

} // namespace smet::rt

#endif // SMET_RUNTIME_DATA_TOKENIZER_H
