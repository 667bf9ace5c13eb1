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

constexpr std::string_view space = "\xe2\x96\x81"; // SentencePiece's sign for it

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
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    tokenizer.codePoints.push_back(charactersOf(processor, id));
    tokenizer.spaced.push_back(processor.IdToPiece(id).starts_with(space));
    if (processor.IdToPiece(id) == "\n")
      tokenizer.linePiece = id;
  }
  auto lineBreak = encodeWith(processor, "\n"), word = encodeWith(processor, "a");
  if (!lineBreak || !word)
    return std::unexpected(lineBreak ? word.error() : lineBreak.error());
  tokenizer.lineBreak = std::move(*lineBreak);
  tokenizer.addsSpace = !word->empty() && tokenizer.spaced[word->front()];
  return tokenizer;
}

Expected<std::vector<int32_t>> Tokenizer::encode(std::string_view text, Behind behind) const {
  if (linePiece >= 0)
    return encodeLines(text, behind != Behind::Text);
  return behind == Behind::Nothing ? encodeWith(model->processor, text) : encodeUnprefixed(text);
}

Expected<std::vector<int32_t>> Tokenizer::encodeLines(std::string_view text, bool lineStart) const {
  std::vector<int32_t> all;
  while (true) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    auto ids = lineStart ? encodeWith(model->processor, line) : encodeUnprefixed(line);
    if (!ids)
      return ids;
    all.insert(all.end(), ids->begin(), ids->end());
    if (end == text.npos)
      return all;
    all.push_back(linePiece);
    text.remove_prefix(end + 1);
    lineStart = true;
  }
}

/// Without the space before the first word.
Expected<std::vector<int32_t>> Tokenizer::encodeUnprefixed(std::string_view text) const {
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
  while (true) { // a line at a time, as they are encoded
    auto end = std::ranges::find(ids, linePiece);
    std::string line;
    if (auto status = model->processor.Decode(std::vector<int>(ids.begin(), end), &line); !status.ok())
      return fail("cannot decode: {}", status.ToString());
    text += line;
    if (end == ids.end())
      return text;
    text += '\n';
    ids = {end + 1, ids.end()};
  }
}

int32_t Tokenizer::characters(int32_t id, int32_t before) const {
  bool first = before >= 0 && (before == linePiece || before == bos());
  return codePoints[id] - (first && addsSpace && spaced[id]);
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
