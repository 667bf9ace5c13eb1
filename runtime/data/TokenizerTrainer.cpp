//===- TokenizerTrainer.cpp -----------------------------------------------===//

#include "runtime/data/TokenizerTrainer.h"

#include "runtime/support/File.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

namespace smet::rt {
namespace {

constexpr int64_t maxTrainingBytes = int64_t(256) << 20;

/// Unknown, start, end, line break.
constexpr int32_t reservedPieces = 4;

class Lines final : public sentencepiece::SentenceIterator {
public:
  explicit Lines(const std::vector<std::string> &lines) : lines(lines) {}
  bool done() const override { return next == lines.size(); }
  void Next() override { ++next; }
  const std::string &value() const override { return lines[next]; }
  sentencepiece::util::Status status() const override { return {}; }

private:
  const std::vector<std::string> &lines;
  size_t next = 0;
};

/// SentencePiece skips sentences of more than 4192 bytes and aborts the process on words of 65,536 characters.
constexpr size_t maxSentenceBytes = 4096;

/// The text's lines without blank ones, long ones cut; every n-th when there is too much.
Expected<std::vector<std::string>> sampleLines(const TextFiles &text) {
  int64_t stride = (text.bytes + maxTrainingBytes - 1) / maxTrainingBytes, seen = 0;
  std::vector<std::string> lines;
  auto read = text.read([&](std::string_view piece, bool) -> Status {
    while (!piece.empty()) {
      std::string_view line = piece.substr(0, piece.find('\n'));
      line = line.substr(0, pieceEnd(line, maxSentenceBytes));
      piece.remove_prefix(line.size());
      piece.remove_prefix(piece.starts_with('\n'));
      if (line.find_first_not_of(" \t\r") != line.npos && seen++ % stride == 0)
        lines.emplace_back(line);
    }
    return {};
  });
  if (!read)
    return std::unexpected(read.error());
  return lines;
}

/// SentencePiece's message without its source location; that of a small vocabulary ends in "<size> vs <needed>. ...".
std::string explain(const sentencepiece::util::Status &status) {
  std::string text = status.ToString();
  if (size_t versus = text.find(" vs "); text.find("required_chars") != text.npos && versus != text.npos)
    return fmt::format("bytes and characters of the text alone need {}", std::atoi(text.c_str() + versus + 4));
  return text;
}

int pieces(const std::string &model) {
  sentencepiece::SentencePieceProcessor processor;
  return processor.LoadFromSerializedProto({model.data(), model.size()}).ok() ? processor.GetPieceSize() : 0;
}

} // namespace

Status trainTokenizer(const TextFiles &text, int32_t vocabSize, const std::filesystem::path &out, bool byteFallback) {
  auto lines = sampleLines(text);
  if (!lines)
    return std::unexpected(lines.error());
  if (vocabSize < reservedPieces)
    return fail("cannot train a tokenizer of {} pieces: unknown, start, end and line break alone are {}", vocabSize,
                reservedPieces);
  if (lines->empty())
    return fail("cannot train a tokenizer: '{}' has nothing but blanks", text.paths.front().string());
  Lines iterator(*lines);
  std::string model;
  auto trained = sentencepiece::SentencePieceTrainer::Train(
      {{"model_type", "bpe"},
       {"vocab_size", std::to_string(vocabSize)},
       {"hard_vocab_limit", "false"}, // so that it answers with the largest vocabulary, which goes into our message
       {"normalization_rule_name", "identity"},
       {"remove_extra_whitespaces", "false"},
       {"split_digits", "true"},
       {"byte_fallback", byteFallback ? "true" : "false"},
       {"character_coverage", byteFallback ? "0.9995" : "1.0"},
       {"user_defined_symbols", "\n"}, // Tokenizer encodes line by line, and so does training, which never sees a break
       {"num_threads", "1"},
       {"minloglevel", "4"}}, // above its fatal level: it returns errors, and progress is not for our users
      &iterator, &model);
  if (!trained.ok())
    return fail("cannot train a tokenizer of {} pieces: {}", vocabSize, explain(trained));
  if (int size = pieces(model); size != vocabSize)
    return fail(
        "cannot train a tokenizer of {} pieces: the text has no more than {}; choose a vocabulary of at most {}",
        vocabSize, size, size);
  return writeFileAtomically(out, model);
}

} // namespace smet::rt
