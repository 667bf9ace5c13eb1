//===- Tokenizer.h - text to token ids and back -----------------*- C++ -*-===//
//
// SentencePiece behind an interface of its own; nothing else includes its headers.
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
  /// Loads a SentencePiece model (*.model). A missing or damaged file, or one of another format, is an error.
  static Expected<Tokenizer> load(const std::filesystem::path &path);
  Tokenizer(Tokenizer &&) noexcept;
  Tokenizer &operator=(Tokenizer &&) noexcept;
  ~Tokenizer();

  /// The ids of a text, without bos and eos. `text` is UTF-8.
  Expected<std::vector<int32_t>> encode(std::string_view text) const;
  /// The same for a text that continues another: SentencePiece puts a space before a text's first word, not here.
  Expected<std::vector<int32_t>> encodeContinuation(std::string_view text) const;
  /// The text of ids; control ids (bos, eos) have none. An id outside [0, size()) is an error.
  Expected<std::string> decode(std::span<const int32_t> ids) const;

  /// Number of pieces.
  int32_t size() const;
  /// Ids of the start and the end of a document; -1 where the model has none.
  int32_t bos() const;
  int32_t eos() const;
  /// The code points that an id stands for: 0 for a control id and for all but the first byte of a code point.
  int32_t characters(int32_t id) const { return codePoints[id]; }
  /// SHA-256 of the model file. A resumed run must have the same.
  const std::string &hash() const { return fileHash; }

  /// An error if the model's embedding cannot hold every id. More rows than pieces are fine.
  Status checkVocabulary(int64_t modelVocabulary) const;

private:
  struct Model;
  explicit Tokenizer(std::unique_ptr<Model> model);

  std::unique_ptr<Model> model;
  std::string file, fileHash;
  std::vector<int32_t> codePoints; ///< by id
  std::vector<int32_t> lineBreak;  ///< ids of "\n"; encodeContinuation encodes behind it
};

} // namespace smet::rt

#endif // SMET_RUNTIME_DATA_TOKENIZER_H
