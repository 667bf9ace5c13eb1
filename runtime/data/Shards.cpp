//===- Shards.cpp ---------------------------------------------------------===//

#include "runtime/data/Shards.h"

#include "runtime/support/File.h"
#include "runtime/support/Hash.h"
#include "runtime/support/Interrupt.h"

#include <bit>
#include <cstring>

namespace smet::rt {
namespace {

namespace fs = std::filesystem;

static_assert(sizeof(ShardTrailer) == 160);
static_assert(std::endian::native == std::endian::little, "shards are little endian");

constexpr std::string_view shardMagic = "SMETTOKS";
constexpr uint32_t shardVersion = 2;
constexpr int64_t noticeableBytes = 10'000'000; ///< some seconds of tokenizing

uint32_t widthFor(const Tokenizer &tokenizer) { return tokenizer.size() <= 65536 ? 2 : 4; }

/// A trailer without count and CRC.
ShardTrailer trailerFor(const std::string &textHash, const Tokenizer &tokenizer) {
  ShardTrailer trailer{};
  shardMagic.copy(trailer.magic, sizeof(trailer.magic));
  trailer.version = shardVersion;
  trailer.width = widthFor(tokenizer);
  textHash.copy(trailer.textHash, sizeof(trailer.textHash));
  tokenizer.hash().copy(trailer.tokenizerHash, sizeof(trailer.tokenizerHash));
  return trailer;
}

/// What is wrong with a shard that should have the trailer `expected` (its count and CRC are read from the file);
/// empty if it is good.
std::string_view findFault(const MappedFile &file, ShardTrailer expected) {
  std::span bytes = file.bytes();
  ShardTrailer trailer;
  if (bytes.size() < sizeof(trailer))
    return "truncated";
  std::memcpy(&trailer, bytes.last(sizeof(trailer)).data(), sizeof(trailer));
  expected.count = trailer.count;
  expected.crc32 = trailer.crc32;
  if (std::memcmp(&trailer, &expected, sizeof(trailer)) != 0)
    return "truncated or of another text, tokenizer or version";
  std::span ids = bytes.first(bytes.size() - sizeof(trailer));
  if (ids.size() % trailer.width != 0 || ids.size() / trailer.width != trailer.count)
    return "truncated";
  uint32_t crc = 0;
  file.walk(ids, [&](std::span<const std::byte> part) { crc = crc32(part, crc); });
  return crc == trailer.crc32 ? "" : "damaged (its checksum is wrong)";
}

/// Appends ids to a shard, converted to its width.
class ShardWriter {
public:
  ShardWriter(AtomicFile &file, ShardTrailer &trailer) : file(file), trailer(trailer) {}

  Status append(std::span<const int32_t> ids) {
    buffer.clear();
    for (int32_t id : ids)
      for (uint32_t i = 0; i < trailer.width; ++i)
        buffer.push_back(std::byte(uint32_t(id) >> (8 * i)));
    trailer.crc32 = crc32(buffer, trailer.crc32);
    trailer.count += ids.size();
    return file.write(buffer);
  }

private:
  AtomicFile &file;
  ShardTrailer &trailer;
  std::vector<std::byte> buffer;
};

/// Tokenizes a piece of text, `behind` what it stands, in short ones: SentencePiece takes more than linear time in the
/// length of its input.
Status tokenizePiece(std::string_view piece, Tokenizer::Behind &behind, const Tokenizer &tokenizer, ShardWriter &out) {
  std::vector<int32_t> ids;
  if (behind == Tokenizer::Behind::Nothing && tokenizer.bos() >= 0)
    ids.push_back(tokenizer.bos());
  while (!piece.empty()) {
    std::string_view part = piece.substr(0, pieceEnd(piece, 4096));
    auto encoded = tokenizer.encode(part, behind);
    if (!encoded)
      return std::unexpected(encoded.error());
    ids.insert(ids.end(), encoded->begin(), encoded->end());
    piece.remove_prefix(part.size());
    behind = part.ends_with('\n') ? Tokenizer::Behind::LineBreak : Tokenizer::Behind::Text;
  }
  return out.append(ids);
}

Status build(const fs::path &path, const TextFiles &text, const Tokenizer &tokenizer, ShardTrailer trailer) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (code)
    return fail("cannot create the cache folder '{}': {}", path.parent_path().string(), code.message());
  auto file = AtomicFile::create(path);
  if (!file)
    return std::unexpected(file.error());
  ShardWriter writer(*file, trailer);
  auto behind = Tokenizer::Behind::Nothing;
  auto read = text.read([&](std::string_view piece, bool documentStart) {
    if (documentStart)
      behind = Tokenizer::Behind::Nothing;
    Status going = checkInterrupt("tokenizing");
    return going ? tokenizePiece(piece, behind, tokenizer, writer) : going;
  });
  if (!read)
    return read;
  if (auto written = file->write(std::as_bytes(std::span(&trailer, 1))); !written)
    return written;
  return file->commit();
}

} // namespace

TokenShard::TokenShard(MappedFile mapped) : file(std::move(mapped)), data(file.bytes().data()) {
  ShardTrailer trailer;
  std::memcpy(&trailer, file.bytes().last(sizeof(trailer)).data(), sizeof(trailer));
  count = trailer.count;
  wide = trailer.width == 4;
}

Expected<TokenShard> TokenShard::open(const TextFiles &text, const Tokenizer &tokenizer, const fs::path &cache,
                                      const std::function<void(std::string_view)> &note) {
  auto textHash = text.hash();
  if (!textHash)
    return std::unexpected(textHash.error());
  ShardTrailer trailer = trailerFor(*textHash, tokenizer);
  fs::path path = cache / fmt::format("{}.tokens", sha256(*textHash + tokenizer.hash()).substr(0, 32));

  std::error_code code;
  if (fs::exists(path, code)) {
    auto file = MappedFile::open(path);
    if (!file)
      return std::unexpected(file.error());
    std::string_view fault = findFault(*file, trailer);
    if (fault.empty())
      return TokenShard(std::move(*file));
    note(fmt::format("the token cache '{}' is {}; tokenizing again", path.string(), fault));
  }
  if (text.bytes > noticeableBytes)
    note(fmt::format("tokenizing {} MB of text; this is done once", text.bytes / 1'000'000));
  if (auto built = build(path, text, tokenizer, trailer); !built)
    return std::unexpected(built.error());
  auto file = MappedFile::open(path);
  if (!file)
    return std::unexpected(file.error());
  if (std::string_view fault = findFault(*file, trailer); !fault.empty())
    return fail("the token cache '{}' just written is {}; check the disk", path.string(), fault);
  return TokenShard(std::move(*file));
}

} // namespace smet::rt
