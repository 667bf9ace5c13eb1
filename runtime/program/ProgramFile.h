//===- ProgramFile.h - the trailer of a program file -------------*- C++ -*-===//
//
// Writes the trailer of Abi.h. Header-only C++20 that needs nothing but zlib, so that the compiler can use it without
// linking the runtime.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_PROGRAMFILE_H
#define SMET_RUNTIME_PROGRAM_PROGRAMFILE_H

#include "runtime/program/Abi.h"

#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace smet {

inline constexpr char programMagic[9] = "SMETPROG";

/// The trailer of a payload of `size` bytes.
inline smet_trailer makeTrailer(const void *payload, uint64_t size) {
  smet_trailer trailer = {};
  std::memcpy(trailer.magic, programMagic, sizeof(trailer.magic));
  trailer.payload_size = size;
  trailer.crc32 = uint32_t(crc32_z(0, static_cast<const Bytef *>(payload), size));
  trailer.abi_version = SMET_ABI_VERSION;
  return trailer;
}

/// Makes a program file of the shared object at `path`. Returns a message, empty on success.
inline std::string appendTrailer(const std::string &path) {
  auto failed = [&] { return "cannot append the program trailer to '" + path + "': " + std::strerror(errno); };
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "r+b"), std::fclose);
  if (!file)
    return failed();
  std::vector<char> payload;
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof(buffer), file.get()))
    payload.insert(payload.end(), buffer, buffer + got);
  if (std::ferror(file.get()) || std::fseek(file.get(), 0, SEEK_END) != 0)
    return failed();
  smet_trailer trailer = makeTrailer(payload.data(), payload.size());
  if (std::fwrite(&trailer, sizeof(trailer), 1, file.get()) != 1 || std::fclose(file.release()) != 0)
    return failed();
  return "";
}

} // namespace smet

#endif // SMET_RUNTIME_PROGRAM_PROGRAMFILE_H
