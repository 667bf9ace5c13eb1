//===- SupportTest.cpp - files, hashes, the allocation log ----------------===//

#include "TestProgram.h"

#include "runtime/support/AllocationLog.h"
#include "runtime/support/Hash.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

using namespace smet::rt;
using smet::test::TestFolder;

// FIPS 180-4 examples and the million-a vector of NIST's CAVS.
TEST(Sha256, PublishedVectors) {
  for (Sha256Function function : sha256Functions()) {
    auto sha256 = [&](std::string_view text) {
      Sha256 hash(function);
      hash.update(text);
      return hash.finish();
    };
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha256, PiecesOfAnySizeGiveTheSameDigest) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += char('a' + i % 26);
  for (size_t piece = 1; piece < 130; ++piece) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece)
      hash.update(std::string_view(text).substr(at, piece));
    EXPECT_EQ(hash.finish(), sha256(text)) << piece;
  }
}

TEST(Crc32, CheckValueOfThePolynomial) {
  std::string_view text = "123456789"; // the catalogued check value of CRC-32/ISO-HDLC
  auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(crc32(bytes), 0xcbf43926u);
  EXPECT_EQ(crc32(bytes.subspan(4), crc32(bytes.first(4))), 0xcbf43926u);
}

TEST(File, WritesAndReadsBack) {
  TestFolder folder;
  std::string text = std::string("line\n\0tail", 10) + std::string(200000, 'x');
  ASSERT_TRUE(writeFileAtomically(folder / "a", text));
  auto back = readFile(folder / "a");
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, text);
}

TEST(File, WithoutCommitTheOldFileStays) {
  TestFolder folder;
  ASSERT_TRUE(writeFileAtomically(folder / "a", "old"));
  {
    auto file = AtomicFile::create(folder / "a");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
  }
  EXPECT_EQ(readFile(folder / "a").value(), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1) << "a temporary file is left";
}

TEST(File, LinksAreFollowedAndOnlyFilesReplaced) {
  TestFolder folder;
  ASSERT_TRUE(writeFileAtomically(folder / "a", "old"));
  std::filesystem::create_symlink("a", folder / "link");
  ASSERT_TRUE(writeFileAtomically(folder / "link", "new"));
  EXPECT_EQ(readFile(folder / "a").value(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  std::filesystem::create_symlink("nowhere", folder / "loose");
  EXPECT_THAT(writeFileAtomically(folder / "loose", "x").error().message, testing::HasSubstr("the link leads nowhere"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0); // stands for a device
  for (const char *name : {"pipe", "."})
    EXPECT_THAT(writeFileAtomically(folder / name, "x").error().message, testing::HasSubstr("not a regular file"))
        << name;
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(File, PermissionsAreThoseOfAnOrdinaryFile) {
  TestFolder folder;
  mode_t mask = umask(022);
  ASSERT_TRUE(writeFileAtomically(folder / "a", "text"));
  umask(mask);
  struct stat status;
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(File, UnwritableFolderIsAnError) {
  // Nothing may be created in /proc, not even by root, whom permissions do not stop.
  auto written = writeFileAtomically("/proc/smet-test", "text");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("'/proc/smet-test'"), std::string::npos) << written.error().message;

  TestFolder folder;
  auto missing = writeFileAtomically(folder / "no/such/file", "text");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("check that the folder exists"), std::string::npos);

  if (geteuid() != 0) {
    std::filesystem::permissions(folder.path, std::filesystem::perms::owner_read);
    auto denied = writeFileAtomically(folder / "a", "text");
    ASSERT_FALSE(denied);
    EXPECT_NE(denied.error().message.find("may write to"), std::string::npos);
  }
}

TEST(File, WriteThatDoesNotFitKeepsTheOldFile) {
  TestFolder folder;
  ASSERT_TRUE(writeFileAtomically(folder / "a", "old"));
  // A limit of the file size fails in the same place as a full disk.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  auto written = writeFileAtomically(folder / "a", std::string(5000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(written);
  EXPECT_EQ(readFile(folder / "a").value(), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
}

TEST(File, MissingFileIsAnError) {
  TestFolder folder;
  auto read = readFile(folder / "none");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("none"), std::string::npos);
}

TEST(AllocationLog, KeepsTheLargestOfAName) {
  recordAllocation("AllocationLog test", 10);
  Scratch<int32_t> scratch("AllocationLog test", 100);
  scratch[99] = 7;
  EXPECT_EQ(scratch.span().back(), 7);
  for (const Allocation &a : allocationLog())
    if (a.name == "AllocationLog test") {
      EXPECT_EQ(a.bytes, 400);
      EXPECT_EQ(a.count, 2);
      return;
    }
  FAIL() << "not recorded";
}
