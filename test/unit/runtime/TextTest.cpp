//===- TextTest.cpp - finding and reading training text -------------------===//

#include "TestData.h"

#include "runtime/support/Hash.h"

#include <gmock/gmock.h>
#include <unistd.h>

using namespace smet::rt;
using namespace smet::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Piece {
  std::string text;
  bool documentStart;
};

Expected<std::vector<Piece>> readAll(const std::filesystem::path &path) {
  auto files = TextFiles::find(path);
  if (!files)
    return std::unexpected(files.error());
  std::vector<Piece> pieces;
  auto read = files->read([&](std::string_view piece, bool start) -> Status {
    pieces.push_back({std::string(piece), start});
    return {};
  });
  if (!read)
    return std::unexpected(read.error());
  return pieces;
}

} // namespace

TEST(Utf8, AcceptsWhatRfc3629Does) {
  for (std::string_view good : {"a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(validUtf8Prefix(good), good.size()) << testing::PrintToString(good);
    EXPECT_EQ(countCodePoints(good), 1) << testing::PrintToString(good);
  }
}

TEST(Utf8, RefusesWhatRfc3629Does) {
  for (std::string_view bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe0\xa0", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff"})
    EXPECT_EQ(validUtf8Prefix("ok" + std::string(bad)), 2u) << testing::PrintToString(bad);
}

TEST(Text, FolderIsReadByNameAndOnlyItsTextFiles) {
  TestFolder folder;
  writeFile(folder / "b.txt", "second");
  writeFile(folder / "a.txt", "first");
  writeFile(folder / "c.md", "other");
  std::filesystem::create_directory(folder / "d.txt");
  auto pieces = readAll(folder.path);
  ASSERT_TRUE(pieces) << messageOf(pieces);
  ASSERT_EQ(pieces->size(), 2u);
  EXPECT_EQ((*pieces)[0].text, "first");
  EXPECT_EQ((*pieces)[1].text, "second");
  EXPECT_TRUE((*pieces)[1].documentStart);
  EXPECT_EQ(TextFiles::find(folder.path)->bytes, 11);
}

TEST(Text, PiecesAreBoundedWholeAndGiveTheText) {
  TestFolder folder;
  std::string lines = makeText(40000), spaces, solid = "x";
  while (spaces.size() < 3 << 20)
    spaces += "word ";
  while (solid.size() < 3 << 20)
    solid += "\xe2\x82\xac"; // 3 bytes, so that 1 MiB falls inside a code point
  for (const std::string &text : {lines, spaces, solid}) {
    writeFile(folder / "text", text);
    auto pieces = readAll(folder / "text");
    ASSERT_TRUE(pieces) << messageOf(pieces);
    ASSERT_GT(pieces->size(), 1u);
    std::string joined;
    for (const Piece &piece : *pieces) {
      EXPECT_EQ(piece.documentStart, joined.empty());
      EXPECT_LE(piece.text.size(), 1u << 20);
      EXPECT_EQ(validUtf8Prefix(piece.text), piece.text.size());
      joined += piece.text;
    }
    EXPECT_TRUE(joined == text);
    if (&text == &lines) {
      EXPECT_EQ(pieces->front().text.back(), '\n');
    }
  }
}

TEST(Text, ByteOrderMarkIsDropped) {
  TestFolder folder;
  writeFile(folder / "text", "\xef\xbb\xbfhello");
  EXPECT_EQ(readAll(folder / "text").value()[0].text, "hello");
}

TEST(Text, InvalidBytesAreNamedWithFileAndOffset) {
  TestFolder folder;
  // Behind the first piece, at its border, at the very end of the file, and UTF-16.
  std::string far = makeText(60000);
  size_t at = far.size() - 3;
  far[at] = char(0xff);
  std::string border((1 << 20) - 1, 'x');
  for (auto [text, offset, byte] : {std::tuple(far, at, "0xff"),
                                    {border + "\xe2\x82", border.size(), "0xe2"},
                                    {"abc\xc3", size_t(3), "0xc3"},
                                    {std::string("\xff\xfeh\0i\0", 6), size_t(0), "0xff"}}) {
    writeFile(folder / "bad.txt", text);
    std::string message = messageOf(readAll(folder / "bad.txt"));
    EXPECT_THAT(message, HasSubstr("bad.txt' is not UTF-8"));
    EXPECT_THAT(message, HasSubstr(fmt::format("invalid byte {} at offset {};", byte, offset)));
  }
}

TEST(Text, MissingEmptyAndUnreadableDataAreErrors) {
  TestFolder folder;
  EXPECT_THAT(messageOf(TextFiles::find(folder / "none")), HasSubstr("none' does not exist"));
  EXPECT_THAT(messageOf(TextFiles::find(folder.path)), HasSubstr("has no *.txt file"));
  writeFile(folder / "a.txt", "");
  EXPECT_THAT(messageOf(TextFiles::find(folder / "a.txt")), HasSubstr("a.txt' is empty"));
  EXPECT_THAT(messageOf(TextFiles::find(folder.path)), HasSubstr("is empty"));
  EXPECT_THAT(messageOf(TextFiles::find("/dev/null")), HasSubstr("cannot read '/dev/null'"));
  writeFile(folder / "b.txt", "text");
  std::filesystem::permissions(folder / "b.txt", std::filesystem::perms::none);
  if (geteuid() != 0) { // root may read everything
    EXPECT_THAT(messageOf(TextFiles::find(folder / "b.txt")), HasSubstr("Permission denied"));
  }
}

TEST(Text, HashIsThatOfSizesAndBytes) {
  TestFolder folder;
  writeFile(folder / "a.txt", "one");
  writeFile(folder / "b.txt", "three");
  EXPECT_EQ(TextFiles::find(folder.path)->hash().value(), sha256("3:one5:three"));
}
