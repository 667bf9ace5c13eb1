//===- KernelCache.cpp - objects of kernels, kept on disk -----------------===//
#include "KernelCache.h"

#include "runtime/program/ProgramFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using smet::KernelCache;

std::string KernelCache::key(mlir::ModuleOp kernel) const {
  std::string text = identity + "\n";
  raw_string_ostream os(text);
  kernel->print(os);
  return toHex(SHA256::hash(arrayRefFromStringRef(text)), /*LowerCase=*/true).substr(0, 32);
}

std::string KernelCache::path(StringRef key) const { return (folder + "/" + key + ".o").str(); }

// An object is followed by the trailer of a program file: its length and checksum.

std::optional<std::string> KernelCache::find(StringRef key) const {
  auto file = MemoryBuffer::getFile(path(key), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() < sizeof(smet_trailer))
    return std::nullopt;
  StringRef object = (*file)->getBuffer().drop_back(sizeof(smet_trailer));
  smet_trailer trailer = makeTrailer(object.data(), object.size());
  if (std::memcmp(object.end(), &trailer, sizeof(trailer)) != 0)
    return std::nullopt;
  return object.str();
}

void KernelCache::store(StringRef key, StringRef object) const {
  if (sys::fs::create_directories(folder))
    return;
  SmallString<128> temporary;
  int descriptor;
  if (sys::fs::createUniqueFile(path(key) + ".%%%%%%%%.tmp", descriptor, temporary))
    return;
  smet_trailer trailer = makeTrailer(object.data(), object.size());
  raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << object << StringRef(reinterpret_cast<const char *>(&trailer), sizeof(trailer));
  os.close();
  // Not synced: what a crash leaves half written is found out by its checksum.
  if (os.has_error() || sys::fs::rename(temporary, path(key)))
    sys::fs::remove(temporary);
  os.clear_error();
}
