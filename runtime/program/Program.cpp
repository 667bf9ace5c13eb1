//===- Program.cpp --------------------------------------------------------===//

#include "runtime/program/Program.h"

#include "runtime/program/ProgramFile.h"
#include "runtime/support/Hash.h"

#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smet::rt {

/// The open file and the shared object loaded from it.
struct Program::Library {
  int descriptor = -1;
  void *handle = nullptr;

  ~Library() {
    if (handle)
      dlclose(handle);
    if (descriptor >= 0)
      close(descriptor);
  }
};

namespace {

Expected<smet_trailer> readTrailer(int descriptor, int64_t fileSize, const std::string &path) {
  smet_trailer trailer;
  int64_t size = sizeof(trailer);
  if (fileSize < size || pread(descriptor, &trailer, size, fileSize - size) != size)
    return fail("'{}' is no smet program: it has {} bytes", path, fileSize);
  if (std::memcmp(trailer.magic, programMagic, sizeof(trailer.magic)) != 0)
    return fail("'{}' is no smet program, or is cut off: it does not end with {}; compile it again", path,
                programMagic);
  return trailer;
}

Expected<uint32_t> checksum(int descriptor, uint64_t size, const std::string &path) {
  std::vector<std::byte> buffer(1 << 20);
  uint32_t crc = 0;
  for (uint64_t at = 0; at < size;) {
    ssize_t got = pread(descriptor, buffer.data(), std::min<uint64_t>(buffer.size(), size - at), off_t(at));
    if (got <= 0)
      return fail("cannot read '{}' at byte {}: {}", path, at, got < 0 ? std::strerror(errno) : "it ends there");
    crc = crc32(std::span(buffer).first(got), crc);
    at += got;
  }
  return crc;
}

/// A truncated shared object makes dlopen raise SIGBUS, so everything is verified first.
Status verify(int descriptor, const std::string &path) {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return fail("cannot read '{}': {}", path, std::strerror(errno));
  auto trailer = readTrailer(descriptor, status.st_size, path);
  if (!trailer)
    return std::unexpected(trailer.error());
  if (trailer->abi_version != SMET_ABI_VERSION)
    return fail("'{}' is a program of version {}, this runtime runs version {}; compile it again", path,
                trailer->abi_version, SMET_ABI_VERSION);
  uint64_t payload = uint64_t(status.st_size) - sizeof(smet_trailer);
  if (trailer->payload_size != payload)
    return fail("'{}' is damaged: {} bytes before the trailer, which says {}; compile it again", path, payload,
                trailer->payload_size);
  auto crc = checksum(descriptor, payload, path);
  if (!crc)
    return std::unexpected(crc.error());
  if (*crc != trailer->crc32)
    return fail("'{}' is damaged: checksum {:08x}, its trailer says {:08x}; compile it again", path, *crc,
                trailer->crc32);
  return {};
}

Expected<Manifest> readManifest(void *handle, const std::string &path) {
  auto *text = static_cast<const char *>(dlsym(handle, "smet_manifest"));
  auto *size = static_cast<const uint64_t *>(dlsym(handle, "smet_manifest_size"));
  if (!text || !size)
    return fail("'{}' is no smet program: it exports no smet_manifest", path);
  auto manifest = Manifest::parse({text, size_t(*size)});
  if (!manifest)
    return fail("'{}': {}", path, manifest.error().message);
  return manifest;
}

} // namespace

Program::Program(std::shared_ptr<Library> library, std::unique_ptr<const Manifest> manifest, std::string path)
    : library(std::move(library)), theManifest(std::move(manifest)), path(std::move(path)) {}

Status Program::check(const std::filesystem::path &file) {
  std::string path = file.string();
  Library library;
  library.descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (library.descriptor < 0)
    return fail("cannot open program '{}': {}", path, std::strerror(errno));
  return verify(library.descriptor, path);
}

Expected<Program> Program::load(const std::filesystem::path &file) {
  std::string path = file.string();
  auto library = std::make_shared<Library>();
  library->descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (library->descriptor < 0)
    return fail("cannot open program '{}': {}", path, std::strerror(errno));
  if (auto ok = verify(library->descriptor, path); !ok)
    return std::unexpected(ok.error());
  // By descriptor: the file verified is the file loaded, and another program that took over this path since is not
  // mistaken for it (dlopen compares names first). The descriptor stays open, so its name stays ours.
  std::string name = fmt::format("/proc/self/fd/{}", library->descriptor);
  library->handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle)
    return fail("cannot load program '{}': {}", path, dlerror());
  auto manifest = readManifest(library->handle, path);
  if (!manifest)
    return std::unexpected(manifest.error());

  Program program(std::move(library), std::make_unique<const Manifest>(std::move(*manifest)), path);
  for (const std::string &entryPoint : program.manifest().entryPoints)
    if (auto found = program.entry(entryPoint); !found)
      return std::unexpected(found.error());
  return program;
}

Expected<smet_entry> Program::entry(std::string_view name) const {
  const auto &known = manifest().entryPoints;
  if (std::ranges::find(known, name) == known.end())
    return fail("program '{}' has no entry point '{}'; it has {}", path, name, fmt::join(known, ", "));
  void *symbol = dlsym(library->handle, fmt::format("smet_{}", name).c_str());
  if (!symbol)
    return fail("program '{}' lists entry point '{}' but does not export it", path, name);
  return reinterpret_cast<smet_entry>(symbol);
}

} // namespace smet::rt
