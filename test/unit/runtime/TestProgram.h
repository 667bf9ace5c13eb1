//===- TestProgram.h - program files from C sources -------------*- C++ -*-===//
//
// Makes a program file for tests: C source text and a manifest, compiled by the C compiler of this build.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_RUNTIME_TESTPROGRAM_H
#define SMET_TEST_UNIT_RUNTIME_TESTPROGRAM_H

#include "runtime/program/ProgramFile.h"
#include "runtime/support/File.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace smet::test {

/// A folder of one test, empty at first, removed at its end.
class TestFolder {
public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "smet-test-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path operator/(std::string_view name) const { return path / name; }

  std::filesystem::path path;
};

/// Builds a manifest tensor by tensor; offsets follow each other, aligned.
class ManifestBuilder {
public:
  explicit ManifestBuilder(std::vector<std::string> entryPoints, std::string kind = "train") {
    manifest = {{"abi", SMET_ABI_VERSION},
                {"kind", kind},
                {"target", "cpu"},
                {"cpu", "x86-64"},
                {"instruction_sets", nlohmann::json::array()},
                {"arena_bytes", 0},
                {"entry_points", entryPoints},
                {"calls", nlohmann::json::object()},
                {"tensors", nlohmann::json::array()},
                {"layers", nlohmann::json::array()},
                {"config", nlohmann::json::object()}};
    for (const std::string &entry : entryPoints)
      manifest["calls"][entry] = nlohmann::json::array();
  }

  /// Adds a tensor and returns its offset.
  int64_t tensor(std::string name, std::string role, std::string dtype, std::vector<int64_t> shape) {
    static const std::map<std::string, int64_t> widths = {{"f32", 4}, {"f64", 8}, {"bf16", 2}, {"i8", 1},
                                                          {"i16", 2}, {"i32", 4}, {"i64", 8}};
    int64_t bytes = widths.at(dtype);
    for (int64_t size : shape)
      bytes *= size;
    int64_t offset = manifest["arena_bytes"];
    manifest["tensors"].push_back(
        {{"name", name}, {"role", role}, {"dtype", dtype}, {"shape", shape}, {"offset", offset}, {"bytes", bytes}});
    manifest["arena_bytes"] = (offset + bytes + SMET_ALIGNMENT - 1) / SMET_ALIGNMENT * SMET_ALIGNMENT;
    return offset;
  }

  nlohmann::json manifest;
};

/// Compiles `source` (which may include "runtime/program/Abi.h" and defines int32_t smet_<entry>(smet_context *,
/// char *)) into the program file `path`.
inline void writeProgram(const std::filesystem::path &path, const nlohmann::json &manifest, std::string_view source) {
  std::string text = manifest.dump(), bytes;
  for (unsigned char c : text)
    bytes += fmt::format("{},", int(c));
  std::string file = path.string(), code = file + ".c";
  ASSERT_TRUE(rt::writeFileAtomically(
      code, fmt::format("#include \"runtime/program/Abi.h\"\nconst char smet_manifest[] = {{{}}};\n"
                        "const uint64_t smet_manifest_size = {};\n{}",
                        bytes, text.size(), source)));
  std::string command =
      fmt::format("'{}' -O1 -shared -fPIC -I'{}' -o '{}' '{}'", SMET_CLANG, SMET_SOURCE_DIR, file, code);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  ASSERT_EQ(appendTrailer(file), "");
}

} // namespace smet::test

#endif // SMET_TEST_UNIT_RUNTIME_TESTPROGRAM_H
