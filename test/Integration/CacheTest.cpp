//===- CacheTest.cpp - compiled kernels are kept and shared ---------------===//
#include "test/Integration/Tools.h"

#include <regex>

namespace fs = std::filesystem;

namespace smet::test {
namespace {

class KernelCacheTest : public Tools {
protected:
  KernelCacheTest() { useOwnCache(); }

  struct Counts {
    int compiled = -1, found = -1;
  };

  /// Compiles and reads what was said about it.
  Counts compile(const std::string &flags, const std::string &out = "x.smet") {
    EXPECT_EQ(run("smet compile --config small.toml --out " + out + " " + flags), 0) << output;
    std::smatch match;
    if (!std::regex_search(output, match, std::regex("compiled (\\d+) kernels, (\\d+) from the cache, [0-9.]+ s\n")))
      return {};
    return {std::stoi(match[1]), std::stoi(match[2])};
  }

  std::string bytes(const fs::path &file) { return rt::readFile(file).value_or(""); }
  fs::path programs() { return folder / "cache/smet/programs"; }
  std::vector<fs::path> kernels() {
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(programs() / "kernels"))
      files.push_back(entry.path());
    return files;
  }
  void forgetPrograms() {
    for (const auto &entry : fs::directory_iterator(programs()))
      if (entry.path().extension() == ".smet")
        fs::remove(entry.path());
  }
};

TEST_F(KernelCacheTest, DensityAndMethodCompileNoKernel) {
  Counts first = compile("");
  EXPECT_GT(first.compiled, 10);
  EXPECT_EQ(first.found, 0);
  EXPECT_EQ(kernels().size(), size_t(first.compiled));

  Counts again = compile(""); // the program itself is there
  EXPECT_EQ(again.compiled, -1);
  Counts density = compile("--density 0.5");
  EXPECT_EQ(density.compiled, 0);
  EXPECT_EQ(density.found, first.compiled);
  Counts fixed = compile("--method static"); // without the scores of pruning
  EXPECT_EQ(fixed.compiled, 0);
  EXPECT_LT(fixed.found, first.compiled);
  Counts block = compile("--block 1x1");
  EXPECT_GT(block.compiled, 0);
  EXPECT_GT(block.found, block.compiled); // embedding, norms, attention, loss, dense optimizer
}

TEST_F(KernelCacheTest, ProcessorsShareNothing) {
  Counts first = compile("--cpu x86-64-v4"), other = compile("--cpu skylake-avx512"); // vectors of the same width
  EXPECT_EQ(other.compiled, first.compiled);
  EXPECT_EQ(other.found, 0);
  EXPECT_EQ(compile("--cpu x86-64-v4 --density 0.5").compiled, 0);
}

TEST_F(KernelCacheTest, ProgramOfKeptKernelsIsTheSame) {
  compile("", "first.smet");
  forgetPrograms();
  EXPECT_EQ(compile("", "second.smet").compiled, 0);
  for (size_t i = 0; const fs::path &file : kernels())
    if (i++ % 2)
      fs::remove(file);
  forgetPrograms();
  EXPECT_GT(compile("", "third.smet").compiled, 0);
  std::string first = bytes(folder / "first.smet");
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(first == bytes(folder / "second.smet"));
  EXPECT_TRUE(first == bytes(folder / "third.smet"));
}

TEST_F(KernelCacheTest, DamagedKernelsAreCompiledAgain) {
  int all = compile("", "first.smet").compiled;
  std::vector<fs::path> files = kernels();
  ASSERT_GT(files.size(), 4u);
  std::string whole = bytes(files[0]), body = bytes(files[2]), trailer = bytes(files[3]);
  writeFile(files[0], whole.substr(0, whole.size() / 2));
  writeFile(files[1], "");
  body[body.size() / 2] ^= 1;
  writeFile(files[2], body);
  trailer.back() ^= 1;
  writeFile(files[3], trailer);
  forgetPrograms();
  Counts again = compile("", "second.smet");
  EXPECT_EQ(again.compiled, 4);
  EXPECT_EQ(again.found, all - 4);
  EXPECT_TRUE(bytes(folder / "first.smet") == bytes(folder / "second.smet"));
  EXPECT_TRUE(bytes(files[0]) == whole); // and mended
}

TEST_F(KernelCacheTest, CompilersBesideEachOther) {
  Process other = start("smet compile --config small.toml --out a.smet");
  compile("--density 0.5", "b.smet");
  std::string printed;
  EXPECT_EQ(other.wait(printed), 0) << printed;
  for (const fs::path &file : kernels())
    EXPECT_EQ(file.extension(), ".o") << file; // nothing temporary is left
  forgetPrograms();
  EXPECT_EQ(compile("", "c.smet").compiled, 0);
  EXPECT_TRUE(bytes(folder / "a.smet") == bytes(folder / "c.smet"));
}

TEST_F(KernelCacheTest, CacheThatCannotBeWrittenIsNoError) {
  fs::create_directories(programs());
  writeFile(programs() / "kernels", "a file in the way");
  EXPECT_GT(compile("").compiled, 10);
}

} // namespace
} // namespace smet::test
