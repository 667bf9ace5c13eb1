//===- Program.h - loads a program file -------------------------*- C++ -*-===//
//
// The one loader of compiled programs (`model.smet`, see Abi.h): trainer, evaluation and smet-run all use it.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_PROGRAM_H
#define SMET_RUNTIME_PROGRAM_PROGRAM_H

#include "runtime/program/Abi.h"
#include "runtime/program/Manifest.h"

#include <filesystem>
#include <memory>

namespace smet::rt {

/// A program in memory; unloaded when this is destroyed.
class Program {
public:
  /// Checks length, magic, version and checksum before anything of the file is mapped, then the manifest and that
  /// every entry point is there.
  static Expected<Program> load(const std::filesystem::path &path);

  /// Only the first part of that: is the file whole, as it was written?
  static Status check(const std::filesystem::path &path);

  const Manifest &manifest() const { return *theManifest; }
  /// The function of an entry point; an error names those that exist.
  Expected<smet_entry> entry(std::string_view name) const;

private:
  struct Library;
  Program(std::shared_ptr<Library> library, std::unique_ptr<const Manifest> manifest, std::string path);

  std::shared_ptr<Library> library;
  std::unique_ptr<const Manifest> theManifest; ///< apart, so that its address survives moves
  std::string path;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_PROGRAM_H
