//===- SafetensorsTest.cpp - the file format, byte by byte ----------------===//

#include "TestData.h"

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/support/Hash.h"

#include <gmock/gmock.h>

using namespace smet::rt;
using namespace smet::test;
using testing::HasSubstr;

namespace {

template <typename T> std::span<const std::byte> bytesOf(const std::vector<T> &values) {
  return std::as_bytes(std::span(values));
}

/// A file: header size, header, data.
std::string makeFile(std::string_view header, std::string_view data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + std::string(header) + std::string(data);
}

std::string openError(const TestFolder &folder, std::string_view contents) {
  writeFile(folder / "t.safetensors", contents);
  return messageOf(SafetensorsFile::open(folder / "t.safetensors"));
}

} // namespace

// The layout by the format's specification.
TEST(Safetensors, WritesTheSpecifiedBytes) {
  TestFolder folder;
  std::vector<int16_t> narrow = {-2, 300, 5};
  std::vector<float> wide = {1.0f, -0.5f};
  auto hash =
      writeSafetensors(folder / "t.safetensors",
                       {{"a", "I16", {3, 1}, bytesOf(narrow)}, {"b", "F32", {2}, bytesOf(wide)}}, {{"step", "7"}});
  ASSERT_TRUE(hash) << messageOf(hash);
  std::string header = R"({"__metadata__":{"step":"7"},)"
                       R"("a":{"data_offsets":[8,14],"dtype":"I16","shape":[3,1]},)"
                       R"("b":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected = makeFile(header, std::string_view("\x00\x00\x80\x3f\x00\x00\x00\xbf"
                                                           "\xfe\xff\x2c\x01\x05\x00",
                                                           14));
  std::string actual = readFile(folder / "t.safetensors").value();
  EXPECT_EQ(actual, expected);
  EXPECT_EQ(*hash, sha256(expected));
}

TEST(Safetensors, ReadsWhatItWrites) {
  TestFolder folder;
  std::vector<std::string> dtypes = {"F32", "F64", "BF16", "I8", "U8", "I16", "U16", "I32", "I64"};
  std::vector<std::vector<uint8_t>> contents;
  std::vector<SafetensorsEntry> tensors;
  for (size_t i = 0; i < dtypes.size(); ++i)
    contents.push_back(std::vector<uint8_t>(safetensorsWidth(dtypes[i]) * 6, uint8_t(i + 1)));
  for (size_t i = 0; i < dtypes.size(); ++i)
    tensors.push_back({"t." + dtypes[i], dtypes[i], {2, 3}, bytesOf(contents[i])});
  std::vector<float> scalar = {4};
  tensors.push_back({"scalar", "F32", {}, bytesOf(scalar)});
  tensors.push_back({"empty", "I32", {0, 5}, {}});
  ASSERT_TRUE(writeSafetensors(folder / "t.safetensors", tensors, {}));
  auto file = SafetensorsFile::open(folder / "t.safetensors");
  ASSERT_TRUE(file) << messageOf(file);
  EXPECT_EQ(file->tensors().size(), tensors.size());
  EXPECT_TRUE(file->metadata().empty());
  EXPECT_EQ(file->find("none"), nullptr);
  for (const SafetensorsEntry &tensor : tensors) {
    const SafetensorsEntry *read = file->find(tensor.name);
    ASSERT_TRUE(read) << tensor.name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(read->bytes, tensor.bytes)) << tensor.name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read->bytes.data()) % safetensorsWidth(tensor.dtype), 0u) << tensor.name;
  }
}

TEST(Safetensors, ReadsForeignOrderAndMetadata) {
  TestFolder folder;
  EXPECT_EQ(openError(folder, makeFile(R"({"y":{"shape":[1],"data_offsets":[2,3],"dtype":"U8"},)"
                                       R"("__metadata__":{"format":"pt"},)"
                                       R"("x":{"shape":[2],"data_offsets":[0,2],"dtype":"I8"}})",
                                       "abc")),
            "");
  auto file = SafetensorsFile::open(folder / "t.safetensors");
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(char(file->find("y")->bytes[0]), 'c');
  EXPECT_EQ(file->tensors()[0].name, "x");
}

TEST(Safetensors, MalformedFilesAreErrors) {
  TestFolder folder;
  auto tensor = [](std::string_view fields) { return fmt::format(R"({{"x":{{{}}}}})", fields); };
  std::string good = tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])");
  ASSERT_EQ(openError(folder, makeFile(good, "abcd")), "");
  std::string two = R"({"x":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
                    R"("y":{"dtype":"I8","shape":[2],"data_offsets":[%,^]}})";
  auto second = [&](char begin, char end) {
    std::string text = two;
    text[text.find('%')] = begin;
    text[text.find('^')] = end;
    return text;
  };
  ASSERT_EQ(openError(folder, makeFile(second('2', '4'), "abcd")), "");

  for (auto [contents, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "it has 0 bytes"},
           {"1234567", "it has 7 bytes"},
           {makeFile(good, "abcd").substr(0, 20), "longer than the file"},
           {std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), "longer than the file"},
           {std::string("\x00\x00\x00\x00\x00\x00\x00\x80{}", 10), "longer than the file"},
           {makeFile("[1, 2]", ""), "not a JSON object"},
           {makeFile("{\"x\": ", ""), "not a JSON object"},
           {makeFile("{} x", ""), "not a JSON object"},
           {makeFile(std::string(100000, '['), ""), "not a JSON object"},
           {makeFile("{\"\xff\":1}", ""), "not a JSON object"},
           {makeFile(R"({"x":5})", ""), "has no dtype"},
           {makeFile(tensor(R"("shape":[1],"data_offsets":[0,4])"), "abcd"), "has no dtype"},
           {makeFile(tensor(R"("dtype":7,"shape":[1],"data_offsets":[0,4])"), "abcd"), "has no dtype"},
           {makeFile(tensor(R"("dtype":"F8","shape":[4],"data_offsets":[0,4])"), "abcd"), "do not match F8"},
           {makeFile(tensor(R"("dtype":"F32","data_offsets":[0,4])"), "abcd"), "no valid shape"},
           {makeFile(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "abcd"), "no valid shape"},
           {makeFile(tensor(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), "abcd"), "no valid shape"},
           {makeFile(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0])"), "abcd"), "no valid shape"},
           {makeFile(tensor(R"("dtype":"F32","shape":[1],"data_offsets":"0,4")"), "abcd"), "no valid shape"},
           {makeFile(tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), "abcd"),
            "no valid shape"},
           {makeFile(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), "abcd"), "4 bytes do not match"},
           {makeFile(tensor(R"("dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4])"), "abcd"),
            "do not match"},
           {makeFile(tensor(R"("dtype":"I8","shape":[4294967296,4294967297],"data_offsets":[0,4])"), "abcd"),
            "do not match"},
           {makeFile(good, "abc"), "lies at [0, 4) of 3 bytes"},
           {makeFile(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), "abcd"), "lies at [4, 0)"},
           {makeFile(good, "abcde"), "1 bytes at the end belong to no tensor"},
           {makeFile(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[1,5])"), "abcde"), "leaves a gap"},
           {makeFile(second('1', '3'), "abc"), "overlaps another"},
           {makeFile(second('3', '5'), "abcde"), "leaves a gap"},
           {makeFile(R"({"__metadata__":3})", ""), "__metadata__ is not an object"},
           {makeFile(R"({"__metadata__":{"a":3}})", ""), "'a' is not a string"}}) {
    std::string message = openError(folder, contents);
    EXPECT_THAT(message, HasSubstr("t.safetensors' is no valid safetensors file")) << contents.substr(0, 200);
    EXPECT_THAT(message, HasSubstr(why)) << contents.substr(0, 200);
  }
  EXPECT_THAT(messageOf(SafetensorsFile::open(folder / "none")), HasSubstr("none"));
}

TEST(Safetensors, RandomDamageDoesNotCrash) {
  TestFolder folder;
  std::vector<float> values(50, 1.5f);
  ASSERT_TRUE(writeSafetensors(folder / "good", {{"a", "F32", {50}, bytesOf(values)}}, {{"k", "v"}}));
  std::string good = readFile(folder / "good").value();
  uint32_t state = 5;
  auto draw = [&](uint32_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; };
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = good;
    damaged[draw(120)] = char(draw(256));
    if (round % 3 == 0)
      damaged.resize(draw(damaged.size()));
    writeFile(folder / "bad", damaged);
    if (auto file = SafetensorsFile::open(folder / "bad"))
      for (const SafetensorsEntry &tensor : file->tensors())
        (void)sha256({reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size()});
  }
}

TEST(Safetensors, BytesThatDoNotMatchTheShapeAreNotWritten) {
  TestFolder folder;
  std::vector<float> values(3);
  EXPECT_THAT(messageOf(writeSafetensors(folder / "t", {{"a", "F32", {4}, bytesOf(values)}}, {})),
              HasSubstr("tensor 'a': 12 bytes do not match F32 [4]"));
  EXPECT_FALSE(std::filesystem::exists(folder / "t"));
}
