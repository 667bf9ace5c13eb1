//===- Tokenizer.cpp ------------------------------------------------------===//

#include "runtime/data/Tokenizer.h"

#include "runtime/data/Text.h"
#include "runtime/support/File.h"
#include "runtime/support/Hash.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <ranges>

namespace smet::rt {

struct Tokenizer::Model {
  sentencepiece::SentencePieceProcessor processor;
};

namespace {

int32_t charactersOf(const sentencepiece::SentencePieceProcessor &processor, int id) {
  if (processor.IsControl(id) || processor.IsUnused(id))
    return 0;
  const std::string &piece = processor.IdToPiece(id);
  if (processor.IsByte(id)) { // "<0x41>"; 80 to BF continue a code point
    char high = piece.size() > 3 ? piece[3] : '0';
    return high != '8' && high != '9' && high != 'A' && high != 'B';
  }
  return processor.IsUnknown(id) ? 1 : int32_t(countCodePoints(piece));
}

Expected<std::vector<int32_t>> encodeWith(const sentencepiece::SentencePieceProcessor &processor,
                                          std::string_view text) {
  std::vector<int32_t> ids;
  if (auto status = processor.Encode({text.data(), text.size()}, &ids); !status.ok())
    return fail("cannot tokenize: {}", status.ToString());
  return ids;
}

} // namespace

Tokenizer::Tokenizer(std::unique_ptr<Model> model) : model(std::move(model)) {}
Tokenizer::Tokenizer(Tokenizer &&) noexcept = default;
Tokenizer &Tokenizer::operator=(Tokenizer &&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Expected<Tokenizer> Tokenizer::load(const std::filesystem::path &path) {
  auto contents = readFile(path);
  if (!contents)
    return std::unexpected(contents.error());
  auto model = std::make_unique<Model>();
  sentencepiece::SentencePieceProcessor &processor = model->processor;
  if (contents->empty() || !processor.LoadFromSerializedProto({contents->data(), contents->size()}).ok() ||
      processor.GetPieceSize() <= 0)
    return fail("'{}' is no SentencePiece model; 'smet tokenizer train' makes one", path.string());

  Tokenizer tokenizer(std::move(model));
  tokenizer.file = path.string();
  tokenizer.fileHash = sha256(*contents);
  for (int id = 0; id < processor.GetPieceSize(); ++id)
    tokenizer.codePoints.push_back(charactersOf(processor, id));
  auto lineBreak = encodeWith(processor, "\n");
  if (!lineBreak)
    return std::unexpected(lineBreak.error());
  tokenizer.lineBreak = std::move(*lineBreak);
  return tokenizer;
}

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view text) const {
  return encodeWith(model->processor, text);
}

Expected<std::vector<int32_t>> Tokenizer::encodeContinuation(std::string_view text) const {
  auto ids = encodeWith(model->processor, "\n" + std::string(text));
  if (ids && std::ranges::equal(lineBreak, *ids | std::views::take(lineBreak.size())))
    ids->erase(ids->begin(), ids->begin() + lineBreak.size());
  return ids;
}

Expected<std::string> Tokenizer::decode(std::span<const int32_t> ids) const {
  for (int32_t id : ids)
    if (id < 0 || id >= size())
      return fail("token {} is outside the vocabulary of '{}' ({} pieces)", id, file, size());
  std::string text;
  if (auto status = model->processor.Decode(std::vector<int>(ids.begin(), ids.end()), &text); !status.ok())
    return fail("cannot decode: {}", status.ToString());
  return text;
}

int32_t Tokenizer::size() const { return model->processor.GetPieceSize(); }
int32_t Tokenizer::bos() const { return model->processor.bos_id(); }
int32_t Tokenizer::eos() const { return model->processor.eos_id(); }

Status Tokenizer::checkVocabulary(int64_t modelVocabulary) const {
  if (size() <= modelVocabulary)
    return {};
  return fail(
      "the tokenizer '{}' has {} pieces, the model's vocab_size is {}; set vocab_size to at least {} or use the "
      "tokenizer that the model was made for",
      file, size(), modelVocabulary, size());
}

} // namespace smet::rt
