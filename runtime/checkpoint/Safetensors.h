//===- Safetensors.h - the safetensors file format --------------*- C++ -*-===//
//
// https://github.com/huggingface/safetensors: 8 bytes little-endian header size, a JSON header (name -> dtype, shape,
// byte range; "__metadata__" -> strings), then the data without gaps. Files written here are read by the Python
// library and vice versa.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CHECKPOINT_SAFETENSORS_H
#define SMET_RUNTIME_CHECKPOINT_SAFETENSORS_H

#include "runtime/support/MappedFile.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace smet::rt {

/// A tensor in, or for, a file. `dtype`: F32 F64 BF16 I8 U8 I16 U16 I32 I64.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

/// Bytes per element; 0 for a dtype that is not supported.
int64_t safetensorsWidth(std::string_view dtype);

/// Writes a file atomically, straight from the tensors' memory, and returns its SHA-256. Tensors are ordered by
/// falling element size, then by name, so that each is aligned. Bytes that do not match dtype and shape are an error.
Expected<std::string> writeSafetensors(const std::filesystem::path &path, std::vector<SafetensorsEntry> tensors,
                                       const SafetensorsMetadata &metadata);

/// A file mapped into memory. Everything that its header claims has been checked.
class SafetensorsFile {
public:
  static Expected<SafetensorsFile> open(const std::filesystem::path &path);

  /// In the order of their data. The bytes stay valid as long as this object lives.
  const std::vector<SafetensorsEntry> &tensors() const { return entries; }
  /// Null if there is none.
  const SafetensorsEntry *find(std::string_view name) const;
  const SafetensorsMetadata &metadata() const { return strings; }
  const MappedFile &mapped() const { return file; }

private:
  explicit SafetensorsFile(MappedFile file) : file(std::move(file)) {}
  Status parse();

  MappedFile file;
  std::vector<SafetensorsEntry> entries;
  SafetensorsMetadata strings;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_CHECKPOINT_SAFETENSORS_H
