//===- TokenizerTest.cpp - training and using a tokenizer -----------------===//

#include "TestData.h"

#include "runtime/support/Hash.h"

#include <gmock/gmock.h>

using namespace smet::rt;
using namespace smet::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string trainingError(const TestFolder &folder, std::string_view text, int32_t size) {
  writeFile(folder / "text", text);
  return messageOf(trainTokenizer(TextFiles::find(folder / "text").value(), size, folder / "out.model"));
}

} // namespace

TEST(Tokenizer, HasTheSizeAskedForAndLlamasSpecialIds) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  EXPECT_EQ(tokenizer.size(), 300);
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  EXPECT_EQ(tokenizer.hash(), sha256(readFile(folder / "tokenizer.model").value()));
}

TEST(Tokenizer, DecodingGivesTheTextBack) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  for (std::string text : {std::string("the house stands"), std::string("  two  spaces \n\n and\ttabs "),
                           std::string("\nline"), std::string("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 12345"),
                           std::string("a\0b", 3), std::string(""), makeText(300)}) {
    auto ids = tokenizer.encode(text);
    ASSERT_TRUE(ids);
    EXPECT_EQ(tokenizer.decode(*ids).value(), text);
  }
}

TEST(Tokenizer, UnknownCharactersBecomeTheirBytes) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  // Byte b has id 4 + b: behind the 3 special ids and the line break. The first id is the space before a text's first
  // word.
  auto ids = tokenizer.encode("\xe2\x82\xac").value();
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_THAT(std::vector(ids.begin() + 1, ids.end()), ElementsAre(4 + 0xe2, 4 + 0x82, 4 + 0xac));
  EXPECT_EQ(tokenizer.characters(ids[1], ids[0]), 1);
  EXPECT_EQ(tokenizer.characters(ids[2], ids[1]), 0);
}

TEST(Tokenizer, PartsEqualTheWhole) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  std::string whole = "the seal\nthere is a\nhare\n";
  auto ids = tokenizer.encode(whole).value();
  for (size_t cut : {9, 10, 14, 20}) { // behind a line break, inside a word, before and behind a space
    auto joined = tokenizer.encode(whole.substr(0, cut)).value();
    auto behind = cut == 9 ? Tokenizer::Behind::LineBreak : Tokenizer::Behind::Text;
    auto rest = tokenizer.encode(whole.substr(cut), behind).value();
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(tokenizer.decode(joined).value(), whole) << cut;
    if (cut == 9) {
      EXPECT_EQ(joined, ids);
    }
  }
}

// Else a model would have to learn the first words of lines as words of their own.
TEST(Tokenizer, TheFirstWordOfALineIsThePieceThatItIsInsideOne) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  auto words = tokenizer.encode("the the").value(), lines = tokenizer.encode("the\nthe").value();
  words.insert(words.begin() + words.size() / 2, 3); // the line break's id
  EXPECT_EQ(lines, words);
}

TEST(Tokenizer, CharactersOfIdsSumToThoseOfTheText) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  std::string text = "na\xc3\xafve \xe2\x82\xac\n\n  the\n" + makeText(50);
  int64_t sum = 0;
  int32_t before = tokenizer.bos();
  for (int32_t id : tokenizer.encode(text).value())
    sum += tokenizer.characters(id, std::exchange(before, id));
  EXPECT_EQ(sum, countCodePoints(text));
  EXPECT_EQ(tokenizer.characters(tokenizer.bos(), before), 0);
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreErrors) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  EXPECT_THAT(messageOf(tokenizer.decode(std::vector<int32_t>{5, 300})), HasSubstr("token 300 is outside"));
  EXPECT_THAT(messageOf(tokenizer.decode(std::vector<int32_t>{-1})), HasSubstr("token -1 is outside"));
}

TEST(Tokenizer, VocabularyMismatchNamesBothSizes) {
  TestFolder folder;
  Tokenizer tokenizer = makeTokenizer(folder);
  EXPECT_TRUE(tokenizer.checkVocabulary(300));
  EXPECT_TRUE(tokenizer.checkVocabulary(512));
  EXPECT_THAT(messageOf(tokenizer.checkVocabulary(299)), HasSubstr("has 300 pieces, the model's vocab_size is 299"));
}

TEST(Tokenizer, FilesThatAreNoModelAreErrors) {
  TestFolder folder;
  EXPECT_THAT(messageOf(Tokenizer::load(folder / "none.model")), HasSubstr("none.model"));
  EXPECT_THAT(messageOf(Tokenizer::load(folder.path)), HasSubstr("cannot"));
  makeTokenizer(folder);
  std::string model = readFile(folder / "tokenizer.model").value();
  std::vector<std::string> bad = {"", "no model", std::string(4096, '\0'), std::string(4096, '\xff'), makeText(20)};
  for (size_t size = 1; size < 57; ++size) // 57 bytes are the special pieces, which make a model
    bad.push_back(model.substr(0, size));
  for (const std::string &contents : bad) {
    writeFile(folder / "bad.model", contents);
    EXPECT_THAT(messageOf(Tokenizer::load(folder / "bad.model")), HasSubstr("bad.model' is no SentencePiece model"))
        << contents.size();
  }
}

// Any damage must be an error or a usable tokenizer, never a crash.
TEST(Tokenizer, DamagedModelsDoNotCrash) {
  TestFolder folder;
  makeTokenizer(folder);
  std::string model = readFile(folder / "tokenizer.model").value();
  uint32_t state = 7;
  auto draw = [&](uint32_t n) { return (state = state * 1664525 + 1013904223) / 65536 % n; };
  for (int round = 0; round < 300; ++round) {
    std::string damaged = model;
    if (round % 2 == 0)
      damaged.resize(draw(model.size()));
    else
      damaged[draw(model.size())] ^= char(1 << draw(8));
    writeFile(folder / "bad.model", damaged);
    if (auto tokenizer = Tokenizer::load(folder / "bad.model"))
      (void)tokenizer->encode("the seal \xe2\x82\xac");
  }
}

TEST(TokenizerTrainer, SameTextSameFile) {
  TestFolder folder;
  makeTokenizer(folder);
  std::string first = readFile(folder / "tokenizer.model").value();
  makeTokenizer(folder);
  EXPECT_EQ(readFile(folder / "tokenizer.model").value(), first);
}

TEST(TokenizerTrainer, LearnsTheMostFrequentPair) {
  TestFolder folder;
  // "qu" occurs most often, so it is the first merge: the piece behind 3 special ids, the line break and 256 bytes.
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "aqu equ iqu oqu\n";
  ASSERT_EQ(trainingError(folder, text, 260 + 1 + 7), ""); // 1 merge and the 7 characters a e i o q u and space
  Tokenizer tokenizer = std::move(Tokenizer::load(folder / "out.model").value());
  EXPECT_THAT(tokenizer.encode("qu", Tokenizer::Behind::Text).value(), ElementsAre(260));
}

// Without bytes the same text needs 256 pieces less; all of its characters survive.
TEST(TokenizerTrainer, WithoutByteFallback) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "aqu equ iqu oqu\n";
  writeFile(folder / "text", text + "K\xe2\x82\xac\n");
  const int pieces = 3 + 1 + 1 + 9; // special, line break, merge "qu", characters a e i o q u K euro and space
  ASSERT_EQ(messageOf(trainTokenizer(TextFiles::find(folder / "text").value(), pieces, folder / "out.model", false)),
            "");
  Tokenizer tokenizer = std::move(Tokenizer::load(folder / "out.model").value());
  EXPECT_EQ(tokenizer.size(), pieces);
  for (std::string_view line : {"aqu equ\niqu\n\noqu", "K\xe2\x82\xac"})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(line).value()).value(), line);
  EXPECT_NE(tokenizer.decode(tokenizer.encode("z").value()).value(), "z") << "not in the text";
}

TEST(TokenizerTrainer, VocabulariesThatDoNotFitTheTextAreErrors) {
  TestFolder folder;
  EXPECT_THAT(trainingError(folder, "hello world\n", 5000), HasSubstr("the text has no more than"));
  EXPECT_THAT(trainingError(folder, "hello world\n", 200), HasSubstr("characters of the text alone need"));
  EXPECT_THAT(trainingError(folder, "hello world\n", 0), HasSubstr("tokenizer of 0 pieces"));
  EXPECT_THAT(trainingError(folder, "hello world\n", -3), HasSubstr("tokenizer of -3 pieces"));
  EXPECT_THAT(trainingError(folder, " \n\n\t\n", 300), HasSubstr("nothing but blanks"));
  EXPECT_THAT(trainingError(folder, "hello \xff\n", 300), HasSubstr("not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out.model"));
}

TEST(TokenizerTrainer, TheLargestVocabularyNamedWorks) {
  TestFolder folder;
  std::string message = trainingError(folder, makeText(5), 5000);
  size_t at = message.rfind("at most ");
  ASSERT_NE(at, message.npos) << message;
  EXPECT_EQ(trainingError(folder, makeText(5), std::stoi(message.substr(at + 8))), "");
}

// SentencePiece aborts on words of 65,536 characters and leaves out lines of more than 4,192 bytes.
TEST(TokenizerTrainer, LongWordsAndLinesTrain) {
  TestFolder folder;
  std::string word, line;
  while (word.size() < 300000)
    word += "abracadabra\xe2\x82\xac";
  EXPECT_EQ(trainingError(folder, word, 280), "");
  while (line.size() < 300000)
    line += "simsala bim ";
  ASSERT_EQ(trainingError(folder, line, 280), "");
  Tokenizer tokenizer = std::move(Tokenizer::load(folder / "out.model").value());
  EXPECT_THAT(tokenizer.encode("simsala bim").value(), testing::SizeIs(2));
}

// Characters that SentencePiece uses itself, controls, noncharacters and spellings of its special pieces.
TEST(TokenizerTrainer, UnusualCharactersTrain) {
  TestFolder folder;
  std::string text("\0 a\0b\n", 7);
  for (std::string_view word : {"\xe2\x96\x81", "\xe2\x96\x85", "<unk>", "<s>", "</s>", "<0x41>", " \xe2\x81\x87 ",
                                "\xef\xbf\xbe", "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf", "\x7f\x01\t\r", "e\xcc\x81",
                                "\xe3\x80\x80\xe4\xb8\xad\xe6\x96\x87", "\t5", "word\t7"})
    text += fmt::format("{0} {0}{0}\n{0}\n", word);
  ASSERT_EQ(trainingError(folder, text, 310), "");
  Tokenizer tokenizer = std::move(Tokenizer::load(folder / "out.model").value());
  EXPECT_TRUE(tokenizer.decode(tokenizer.encode(text).value()));
}

TEST(TokenizerTrainer, SaysNothingOnTheTerminal) {
  TestFolder folder;
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  makeTokenizer(folder);
  trainingError(folder, "hello world\n", 200);
  (void)Tokenizer::load(folder / "text");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}
