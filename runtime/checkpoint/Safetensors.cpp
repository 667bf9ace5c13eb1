//===- Safetensors.cpp ----------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"

#include "runtime/support/File.h"
#include "runtime/support/Hash.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace smet::rt {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors is little endian");

constexpr const char *metadataKey = "__metadata__";
constexpr uint64_t maxHeader = 100'000'000; ///< the reference implementation's limit

/// Bytes of a tensor; nothing if the dtype is unknown or the product overflows.
std::optional<int64_t> tensorBytes(std::string_view dtype, const std::vector<int64_t> &shape) {
  int64_t bytes = safetensorsWidth(dtype);
  if (bytes == 0)
    return std::nullopt;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  return bytes;
}

Expected<std::string> makeHeader(const std::vector<SafetensorsEntry> &tensors, const SafetensorsMetadata &metadata) {
  json header = json::object();
  if (!metadata.empty())
    header[metadataKey] = metadata;
  int64_t offset = 0;
  for (const SafetensorsEntry &tensor : tensors) {
    if (tensorBytes(tensor.dtype, tensor.shape) != int64_t(tensor.bytes.size()))
      return fail("tensor '{}': {} bytes do not match {} [{}]", tensor.name, tensor.bytes.size(), tensor.dtype,
                  fmt::join(tensor.shape, ", "));
    int64_t end = offset + tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' '); // aligns the data
  uint64_t size = text.size();
  return std::string(reinterpret_cast<const char *>(&size), sizeof(size)) + text;
}

/// A list of sizes, if that is what `value` is.
std::optional<std::vector<int64_t>> sizes(const json &object, const char *key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_array())
    return std::nullopt;
  std::vector<int64_t> values;
  for (const json &value : *it) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t(INT64_MAX))
      return std::nullopt;
    values.push_back(value.get<int64_t>());
  }
  return values;
}

/// One tensor of the header, whose data lie in `data`.
Expected<SafetensorsEntry> parseEntry(const std::string &name, const json &object, std::span<const std::byte> data) {
  SafetensorsEntry entry{name, {}, {}, {}};
  auto dtype = object.is_object() ? object.find("dtype") : object.end();
  if (!object.is_object() || dtype == object.end() || !dtype->is_string())
    return fail("tensor '{}' has no dtype", name);
  entry.dtype = dtype->get<std::string>();
  auto shape = sizes(object, "shape"), offsets = sizes(object, "data_offsets");
  if (!shape || !offsets || offsets->size() != 2)
    return fail("tensor '{}' has no valid shape or data_offsets", name);
  entry.shape = *shape;
  int64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end || end > int64_t(data.size()))
    return fail("tensor '{}' lies at [{}, {}) of {} bytes", name, begin, end, data.size());
  if (tensorBytes(entry.dtype, entry.shape) != end - begin)
    return fail("tensor '{}': {} bytes do not match {} [{}]", name, end - begin, entry.dtype,
                fmt::join(entry.shape, ", "));
  entry.bytes = data.subspan(begin, end - begin);
  return entry;
}

Status parseMetadata(const json &object, SafetensorsMetadata &strings) {
  if (!object.is_object())
    return fail("{} is not an object", metadataKey);
  for (const auto &[key, value] : object.items()) {
    if (!value.is_string())
      return fail("{} '{}' is not a string", metadataKey, key);
    strings[key] = value.get<std::string>();
  }
  return {};
}

/// The tensors must cover the data exactly, as the format demands: no overlap, no gap.
Status checkCoverage(const std::vector<SafetensorsEntry> &entries, std::span<const std::byte> data) {
  const std::byte *end = data.data();
  for (const SafetensorsEntry &entry : entries) {
    if (entry.bytes.data() != end)
      return fail("tensor '{}' overlaps another or leaves a gap", entry.name);
    end += entry.bytes.size();
  }
  if (end != data.data() + data.size())
    return fail("{} bytes at the end belong to no tensor", data.data() + data.size() - end);
  return {};
}

} // namespace

int64_t safetensorsWidth(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 9> widths = {
      {{"F32", 4}, {"F64", 8}, {"BF16", 2}, {"I8", 1}, {"U8", 1}, {"I16", 2}, {"U16", 2}, {"I32", 4}, {"I64", 8}}};
  auto it = std::ranges::find(widths, dtype, &std::pair<std::string_view, int64_t>::first);
  return it == widths.end() ? 0 : it->second;
}

Expected<std::string> writeSafetensors(const std::filesystem::path &path, std::vector<SafetensorsEntry> tensors,
                                       const SafetensorsMetadata &metadata) {
  std::ranges::sort(tensors, {}, [](const SafetensorsEntry &tensor) {
    return std::pair(-safetensorsWidth(tensor.dtype), std::string_view(tensor.name));
  });
  auto header = makeHeader(tensors, metadata);
  if (!header)
    return std::unexpected(header.error());
  auto file = AtomicFile::create(path);
  if (!file)
    return std::unexpected(file.error());
  Sha256 hash;
  auto write = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    return file->write(bytes);
  };
  if (auto written = write(std::as_bytes(std::span(*header))); !written)
    return std::unexpected(written.error());
  for (const SafetensorsEntry &tensor : tensors)
    if (auto written = write(tensor.bytes); !written)
      return std::unexpected(written.error());
  if (auto committed = file->commit(); !committed)
    return std::unexpected(committed.error());
  return hash.finish();
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path &path) {
  auto mapped = MappedFile::open(path);
  if (!mapped)
    return std::unexpected(mapped.error());
  SafetensorsFile file(std::move(*mapped));
  if (auto parsed = file.parse(); !parsed)
    return fail("'{}' is no valid safetensors file: {}", path.string(), parsed.error().message);
  return file;
}

Status SafetensorsFile::parse() {
  std::span bytes = file.bytes();
  uint64_t headerSize = 0;
  if (bytes.size() < sizeof(headerSize))
    return fail("it has {} bytes", bytes.size());
  std::memcpy(&headerSize, bytes.data(), sizeof(headerSize));
  bytes = bytes.subspan(sizeof(headerSize));
  if (headerSize > maxHeader || headerSize > bytes.size())
    return fail("its header of {} bytes is longer than the file or the limit", headerSize);
  auto *text = reinterpret_cast<const char *>(bytes.data());
  json header = json::parse(text, text + headerSize, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return fail("its header is not a JSON object");

  std::span data = bytes.subspan(headerSize);
  for (const auto &[name, value] : header.items()) {
    if (name == metadataKey) {
      if (auto parsed = parseMetadata(value, strings); !parsed)
        return parsed;
      continue;
    }
    auto entry = parseEntry(name, value, data);
    if (!entry)
      return std::unexpected(entry.error());
    entries.push_back(std::move(*entry));
  }
  // By offset; of tensors at the same one, the empty ones come first.
  std::ranges::sort(entries, {}, [](const SafetensorsEntry &e) { return std::pair(e.bytes.data(), e.bytes.size()); });
  return checkCoverage(entries, data);
}

const SafetensorsEntry *SafetensorsFile::find(std::string_view name) const {
  auto it = std::ranges::find(entries, name, &SafetensorsEntry::name);
  return it == entries.end() ? nullptr : &*it;
}

} // namespace smet::rt
