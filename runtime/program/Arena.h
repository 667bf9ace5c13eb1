//===- Arena.h - the memory of a program ------------------------*- C++ -*-===//
//
// One range of exactly manifest.arenaBytes bytes, zero at first, in which every tensor of the program lies: private
// anonymous memory, as Abi.h's `fill` expects.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_ARENA_H
#define SMET_RUNTIME_PROGRAM_ARENA_H

#include "runtime/program/Manifest.h"

#include <cstddef>
#include <span>

namespace smet::rt {

/// Whether T may view tensors of a dtype: i16 and i32 also as unsigned, bf16 as its bits in uint16_t.
template <typename T> bool views(DType dtype);
template <> inline bool views<float>(DType d) { return d == DType::F32; }
template <> inline bool views<double>(DType d) { return d == DType::F64; }
template <> inline bool views<int8_t>(DType d) { return d == DType::I8; }
template <> inline bool views<int16_t>(DType d) { return d == DType::I16; }
template <> inline bool views<uint16_t>(DType d) { return d == DType::I16 || d == DType::BF16; }
template <> inline bool views<int32_t>(DType d) { return d == DType::I32; }
template <> inline bool views<uint32_t>(DType d) { return d == DType::I32; }
template <> inline bool views<int64_t>(DType d) { return d == DType::I64; }

class Arena {
public:
  /// Memory of a program, or the image on the host of that on a card: of it only what is touched takes memory.
  enum class Use { Memory, Image };
  /// `manifest` must outlive the arena.
  static Expected<Arena> create(const Manifest &manifest, Use use = Use::Memory);
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&) = delete;
  ~Arena();

  char *base() const { return data; }

  /// The elements of a tensor; an error when the name is unknown or T does not fit its dtype.
  template <typename T> Expected<std::span<T>> tensor(std::string_view name) const {
    auto info = find(name);
    if (!info)
      return std::unexpected(info.error());
    if (!views<T>((*info)->dtype))
      return fail("tensor '{}' has dtype {}, read as another", name, rt::name((*info)->dtype));
    auto raw = bytes(**info);
    return std::span(reinterpret_cast<T *>(raw.data()), raw.size() / sizeof(T));
  }
  /// The one element of a tensor such as "loss" or "lr".
  template <typename T> Expected<T *> scalar(std::string_view name) const {
    auto elements = tensor<T>(name);
    if (!elements)
      return std::unexpected(elements.error());
    if (elements->size() != 1)
      return fail("tensor '{}' has {} elements, not one", name, elements->size());
    return elements->data();
  }
  /// The bytes of a tensor of this manifest.
  std::span<std::byte> bytes(const TensorInfo &info) const {
    return {reinterpret_cast<std::byte *>(data) + info.offset, size_t(info.bytes)};
  }

private:
  Arena(const Manifest &manifest, char *data) : manifest(&manifest), data(data) {}
  Expected<const TensorInfo *> find(std::string_view name) const;

  const Manifest *manifest;
  char *data;
};

/// Where the bytes of an arena go.
struct MemoryReport {
  int64_t weights = 0;
  int64_t gradients = 0;   ///< workspace tensors named "*.grad"
  int64_t optimizer = 0;   ///< moments
  int64_t metadata = 0;    ///< topology and ages
  int64_t activations = 0; ///< the rest of the workspace
  int64_t cache = 0;       ///< keys and values, of an inference program
  int64_t io = 0;          ///< inputs and outputs
  int64_t padding = 0;     ///< between tensors
  int64_t total = 0;       ///< the sum of these: manifest.arenaBytes
};

MemoryReport memoryReport(const Manifest &manifest);

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_ARENA_H
