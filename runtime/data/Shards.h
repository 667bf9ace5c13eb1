//===- Shards.h - a tokenized text, kept on disk ----------------*- C++ -*-===//
//
// A text is tokenized once; the ids lie in a cache file that later runs map into memory:
//
//   ids (uint16 when the vocabulary has at most 65,536 pieces, else uint32; little endian), then a ShardTrailer
//
// The file's name and trailer carry the hashes of text and tokenizer, and a CRC-32 covers the ids, so a stale, foreign,
// truncated or damaged file is noticed and rebuilt.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_DATA_SHARDS_H
#define SMET_RUNTIME_DATA_SHARDS_H

#include "runtime/data/Text.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/support/MappedFile.h"

namespace smet::rt {

/// The last 160 bytes of a shard.
struct ShardTrailer {
  char magic[8];          ///< "SMETTOKS"
  uint32_t version;       ///< 1
  uint32_t width;         ///< bytes per id: 2 or 4
  uint64_t count;         ///< ids
  uint32_t crc32;         ///< of the ids
  uint32_t reserved;      ///< zero
  char textHash[64];      ///< TextFiles::hash
  char tokenizerHash[64]; ///< Tokenizer::hash
};

class TokenShard {
public:
  /// Maps the shard of `text` under `tokenizer` in the folder `cache`, after tokenizing the text when there is no good
  /// one. Each document starts with bos (where the tokenizer has one). `note` receives a sentence for the user when a
  /// damaged shard is replaced and before a long text is tokenized.
  static Expected<TokenShard> open(const TextFiles &text, const Tokenizer &tokenizer,
                                   const std::filesystem::path &cache,
                                   const std::function<void(std::string_view)> &note);

  /// Number of ids.
  int64_t size() const { return count; }
  int32_t operator[](int64_t position) const {
    return wide ? int32_t(reinterpret_cast<const uint32_t *>(data)[position])
                : int32_t(reinterpret_cast<const uint16_t *>(data)[position]);
  }

private:
  explicit TokenShard(MappedFile file);

  MappedFile file;
  const std::byte *data;
  int64_t count;
  bool wide;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_DATA_SHARDS_H
