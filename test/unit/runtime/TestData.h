//===- TestData.h - text and a tokenizer for tests --------------*- C++ -*-===//
#ifndef SMET_TEST_UNIT_RUNTIME_TESTDATA_H
#define SMET_TEST_UNIT_RUNTIME_TESTDATA_H

#include "TestProgram.h"

#include "runtime/data/Tokenizer.h"
#include "runtime/data/TokenizerTrainer.h"

namespace smet::test {

inline void writeFile(const std::filesystem::path &path, std::string_view contents) {
  ASSERT_TRUE(rt::writeFileAtomically(path, contents));
}

/// Lines of words drawn by a linear congruential generator; the words' letters differ in frequency, as in a language.
inline std::string makeText(int lines) {
  std::string text;
  uint32_t state = 1;
  auto draw = [&](uint32_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; };
  for (int line = 0; line < lines; ++line) {
    for (uint32_t words = 4 + draw(8); words > 0; --words) {
      for (uint32_t letters = 1 + draw(6); letters > 0; --letters)
        text += "eeeetttaaoinshrdlu"[draw(18)];
      text += words > 1 ? " " : ".\n";
    }
  }
  return text;
}

/// A tokenizer of 300 pieces trained on makeText(200), the same in every test.
inline rt::Tokenizer makeTokenizer(const TestFolder &folder) {
  writeFile(folder / "tokenizer-text", makeText(200));
  auto text = rt::TextFiles::find(folder / "tokenizer-text");
  auto trained = rt::trainTokenizer(text.value(), 300, folder / "tokenizer.model");
  EXPECT_TRUE(trained) << trained.error().message;
  return std::move(rt::Tokenizer::load(folder / "tokenizer.model").value());
}

/// The message of a failed Expected, "" of a good one.
template <typename T> std::string messageOf(const rt::Expected<T> &result) {
  return result ? "" : result.error().message;
}

} // namespace smet::test

#endif // SMET_TEST_UNIT_RUNTIME_TESTDATA_H
