//===- BatchesTest.cpp - token shards, the split, batches -----------------===//

#include "TestData.h"

#include "runtime/data/Batches.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

using namespace smet::rt;
using namespace smet::test;
using testing::HasSubstr;

namespace {

/// A text with its tokenizer and an empty cache.
struct Data : TestFolder {
  explicit Data(std::string_view contents) : tokenizer(makeTokenizer(*this)) {
    writeFile(path / "data.txt", contents);
    files = TextFiles::find(path / "data.txt").value();
  }

  Expected<TokenShard> open() {
    notes.clear();
    return TokenShard::open(files, tokenizer, path / "cache", [&](std::string_view note) { notes += note; });
  }
  TokenShard shard() { return std::move(open().value()); }
  /// The only file of the cache.
  std::filesystem::path cacheFile() {
    std::filesystem::directory_iterator entries(path / "cache");
    auto file = entries->path();
    EXPECT_EQ(++entries, std::filesystem::directory_iterator()) << "more than one file in the cache";
    return file;
  }

  Tokenizer tokenizer;
  TextFiles files;
  std::string notes;
};

std::vector<int32_t> idsOf(const TokenShard &shard) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < shard.size(); ++i)
    ids.push_back(shard[i]);
  return ids;
}

/// bos, then the ids of the whole text at once.
std::vector<int32_t> expectedIds(const Tokenizer &tokenizer, std::string_view text) {
  std::vector<int32_t> ids = {tokenizer.bos()};
  auto rest = tokenizer.encode(text).value();
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

/// The split, one token at a time: true where a token validates.
std::vector<bool> validates(int64_t tokens) {
  int64_t chunk = std::min(std::max<int64_t>(tokens / 5120, 128), tokens / 20);
  std::vector<bool> result;
  for (int64_t i = 0; i < tokens; ++i)
    result.push_back(i / chunk % 20 == 10);
  return result;
}

} // namespace

TEST(Shards, HoldTheIdsOfTheText) {
  std::string text = makeText(500) + "\n\n  caf\xc3\xa9 \xe2\x82\xac without a line end";
  Data data(text);
  EXPECT_EQ(idsOf(data.shard()), expectedIds(data.tokenizer, text));
}

TEST(Shards, EachDocumentStartsWithBos) {
  Data data("first\n");
  writeFile(data.path / "more.txt", "second");
  data.files.paths.push_back(data.path / "more.txt");
  auto expected = expectedIds(data.tokenizer, "first\n"), second = expectedIds(data.tokenizer, "second");
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(idsOf(data.shard()), expected);
}

TEST(Shards, AreReusedWhileTextAndTokenizerStay) {
  Data data(makeText(100));
  data.shard();
  auto written = std::filesystem::last_write_time(data.cacheFile());
  std::filesystem::last_write_time(data.cacheFile(), written - std::chrono::hours(1));
  data.shard();
  EXPECT_EQ(std::filesystem::last_write_time(data.cacheFile()), written - std::chrono::hours(1)) << "built again";
  EXPECT_EQ(data.notes, "");
}

TEST(Shards, OfAnotherTextAreAnotherFile) {
  Data data(makeText(100));
  data.shard();
  std::string text = makeText(99);
  writeFile(data.path / "data.txt", text);
  EXPECT_EQ(idsOf(data.shard()), expectedIds(data.tokenizer, text));
  EXPECT_EQ(data.notes, "");
}

TEST(Shards, DamagedCachesAreRebuiltWithANote) {
  std::string text = makeText(100);
  Data data(text);
  auto expected = idsOf(data.shard());
  std::string good = readFile(data.cacheFile()).value();
  std::string flipped = good, foreign = good;
  flipped[10] ^= 4;
  foreign[foreign.size() - 1] ^= 1; // in the tokenizer's hash
  std::string shortened = good;
  shortened.erase(100, 2); // one id less before a good trailer
  for (auto [contents, why] : {std::pair(flipped, "damaged"),
                               {foreign, "of another text, tokenizer or version"},
                               {shortened, "truncated"},
                               {good.substr(0, good.size() / 2), "truncated"},
                               {good.substr(0, 50), "truncated"},
                               {std::string(), "truncated"}}) {
    writeFile(data.cacheFile(), contents);
    auto shard = data.open();
    ASSERT_TRUE(shard) << messageOf(shard);
    EXPECT_EQ(idsOf(*shard), expected);
    EXPECT_THAT(data.notes, HasSubstr(why));
    EXPECT_THAT(data.notes, HasSubstr("tokenizing again"));
    EXPECT_EQ(readFile(data.cacheFile()).value(), good);
  }
}

TEST(Shards, UnwritableCacheAndBadTextAreErrors) {
  Data data(makeText(10));
  writeFile(data.path / "cache", "a file where the folder should be");
  EXPECT_THAT(messageOf(data.open()), HasSubstr("cannot create the cache folder"));
  std::filesystem::remove(data.path / "cache");
  writeFile(data.path / "data.txt", "text \xff");
  EXPECT_THAT(messageOf(data.open()), HasSubstr("not UTF-8"));
  EXPECT_TRUE(std::filesystem::is_empty(data.path / "cache")) << "a partial file is left";
}

TEST(Split, MatchesTheRuleTokenByToken) {
  for (int64_t tokens : {20, 39, 40, 41, 399, 1000, 12345, 2559, 2560, 2561, 655359, 660480, 1000003}) {
    auto expected = validates(tokens);
    Split split(tokens);
    std::vector<bool> actual(tokens, false);
    for (const TokenRange &range : split.validation()) {
      EXPECT_GT(range.size(), 0);
      std::fill(actual.begin() + range.begin, actual.begin() + range.end, true);
    }
    EXPECT_TRUE(actual == expected) << tokens;
    std::vector<int64_t> train;
    for (int64_t i = 0; i < tokens; ++i)
      if (!expected[i])
        train.push_back(i);
    ASSERT_EQ(split.trainTokens(), int64_t(train.size())) << tokens;
    for (size_t i = 0; i < train.size(); ++i)
      ASSERT_EQ(split.trainPosition(i), train[i]) << tokens;
    EXPECT_NEAR(double(tokens - split.trainTokens()) / tokens, 0.05, tokens < 1000 ? 0.05 : 0.015) << tokens;
  }
}

TEST(Split, ChunksOfLongTextsHave4096Tokens) {
  EXPECT_EQ(Split(int64_t(1) << 24).validation().front().size(), (1 << 24) / 5120);
  EXPECT_EQ(Split(int64_t(1) << 26).validation().front().size(), 4096);
}

TEST(TrainBatches, EachEpochVisitsEachSequenceOnce) {
  Data data(makeText(400));
  TokenShard shard = data.shard();
  int64_t train = Split(shard.size()).trainTokens();
  for (int64_t seqLen : {1, 7, 32}) {
    auto batches = TrainBatches::create(shard, {1, seqLen, 64}, 3);
    ASSERT_TRUE(batches) << messageOf(batches);
    int64_t count = batches->sequencesPerEpoch();
    EXPECT_GT(count, train / seqLen - 3);
    std::set<int64_t> offsets;
    for (int64_t epoch = 0; epoch < 4; ++epoch) {
      std::set<int64_t> starts;
      for (int64_t i = 0; i < count; ++i)
        starts.insert(batches->sequenceStart(epoch * count + i));
      ASSERT_EQ(int64_t(starts.size()), count);
      EXPECT_GE(*starts.begin(), 0);
      EXPECT_EQ(*starts.rbegin() - *starts.begin(), (count - 1) * seqLen) << "sequences overlap or leave gaps";
      EXPECT_LE(*starts.rbegin() + seqLen, train - 1) << "the last target is behind the text";
      offsets.insert(*starts.begin());
    }
    EXPECT_TRUE(seqLen < 8 || offsets.size() > 1) << "every epoch has the same offset";
  }
}

// The order is part of a run's identity: a resumed run must see what it would have seen. If this test fails, the order
// has changed, and checkpoints of older versions continue with other data.
TEST(TrainBatches, OrderOfTheSeedStays) {
  Data data(makeText(400));
  TokenShard shard = data.shard();
  auto batches = TrainBatches::create(shard, {4, 16, 64}, 42).value();
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < 6; ++i)
    starts.push_back(batches.sequenceStart(i));
  EXPECT_THAT(starts, testing::ElementsAre(2322, 6466, 4338, 7058, 1362, 7986));
}

TEST(TrainBatches, OrdersLookRandom) {
  Data data(makeText(3000));
  TokenShard shard = data.shard();
  auto one = TrainBatches::create(shard, {1, 8, 64}, 1).value(),
       two = TrainBatches::create(shard, {1, 8, 64}, 2).value();
  int64_t n = one.sequencesPerEpoch();
  ASSERT_GT(n, 4000);
  int64_t same = 0, neighbours = 0, epochs = 0;
  for (int64_t i = 0; i + 1 < n; ++i) {
    same += one.sequenceStart(i) / 8 == two.sequenceStart(i) / 8;
    epochs += one.sequenceStart(i) / 8 == one.sequenceStart(i + n) / 8;
    neighbours += one.sequenceStart(i) + 8 == one.sequenceStart(i + 1);
  }
  // Each is Poisson with mean 1 between independent permutations.
  EXPECT_LT(same, 8);
  EXPECT_LT(epochs, 8);
  EXPECT_LT(neighbours, 8);
  // The mean position of the first quarter is that of a uniform draw: n/2 within 5 standard errors.
  double sum = 0;
  for (int64_t i = 0; i < n / 4; ++i)
    sum += double(one.sequenceStart(i)) / 8;
  EXPECT_NEAR(sum / (n / 4) / n, 0.5, 5 * 0.289 / std::sqrt(n / 4));
}

TEST(TrainBatches, RowsAreTokensAndTheirSuccessorsThenPadding) {
  Data data(makeText(400));
  TokenShard shard = data.shard();
  std::vector<int32_t> train; // training tokens, by the split's rule
  auto validating = validates(shard.size());
  for (int64_t i = 0; i < shard.size(); ++i)
    if (!validating[i])
      train.push_back(shard[i]);
  BatchShape shape{3, 48, 64};
  auto batches = TrainBatches::create(shard, shape, 9).value();
  std::vector<int32_t> tokens(shape.places(), 77), targets(shape.places(), 77);
  for (int64_t step : {1, 2, 1000, 5}) {
    EXPECT_EQ(batches.fill(step, tokens, targets), 3 * 48);
    for (int64_t row = 0; row < 3; ++row) {
      int64_t start = batches.sequenceStart((step - 1) * 3 + row);
      for (int64_t i = 0; i < 64; ++i) {
        EXPECT_EQ(tokens[row * 64 + i], i < 48 ? train[start + i] : 0);
        EXPECT_EQ(targets[row * 64 + i], i < 48 ? train[start + i + 1] : -1);
      }
    }
  }
}

TEST(TrainBatches, ShortDataIsAnErrorThatSaysHowShort) {
  Data data(makeText(10));
  TokenShard shard = data.shard();
  int64_t train = Split(shard.size()).trainTokens();
  EXPECT_TRUE(TrainBatches::create(shard, {2, train - 1, 2048}, 1));
  EXPECT_THAT(messageOf(TrainBatches::create(shard, {2, train, 2048}, 1)),
              HasSubstr(fmt::format("too short: {} tokens, of which {} train", shard.size(), train)));
  Data tiny("a");
  TokenShard few = tiny.shard();
  EXPECT_THAT(messageOf(TrainBatches::create(few, {1, 1, 64}, 1)), HasSubstr("too short"));
  EXPECT_THAT(messageOf(EvalBatches::validation(few, tiny.tokenizer, {1, 1, 64})), HasSubstr("too short"));
}

TEST(EvalBatches, ScoreEachValidationTokenOnce) {
  Data data(makeText(700) + "caf\xc3\xa9\n");
  TokenShard shard = data.shard();
  auto validating = validates(shard.size());
  for (int64_t seqLen : {5, 64}) {
    BatchShape shape{4, seqLen, 64};
    auto batches = EvalBatches::validation(shard, data.tokenizer, shape).value();
    std::vector<int32_t> tokens(shape.places()), targets(shape.places());
    std::vector<std::pair<int32_t, int32_t>> scored, expected; // (token before, token)
    std::vector<int32_t> ids;
    EvalCounts total;
    for (int64_t i = 0; i < batches.size(); ++i) {
      EvalCounts counts = batches.fill(i, tokens, targets);
      EXPECT_GT(counts.targets, 0);
      total.targets += counts.targets;
      total.characters += counts.characters;
      for (int64_t place = 0; place < shape.places(); ++place) {
        if (targets[place] >= 0)
          scored.push_back({tokens[place], targets[place]});
        else
          EXPECT_EQ(tokens[place], 0);
      }
    }
    for (int64_t i = 1; i < shard.size(); ++i)
      if (validating[i]) {
        expected.push_back({shard[i - 1], shard[i]});
        ids.push_back(shard[i]);
      }
    EXPECT_EQ(scored, expected);
    EXPECT_EQ(total.targets, int64_t(expected.size()));
    // Decoding drops the space before the first word of what it is given, here of a chunk's first token.
    EXPECT_NEAR(total.characters, countCodePoints(data.tokenizer.decode(ids).value()), 1);
  }
}

TEST(EvalBatches, WholeTextCountsItsCharacters) {
  std::string text = makeText(50) + "\xe2\x82\xac 5\n";
  Data data(text);
  TokenShard shard = data.shard();
  BatchShape shape{2, 30, 64};
  auto batches = EvalBatches::wholeText(shard, data.tokenizer, shape).value();
  std::vector<int32_t> tokens(shape.places()), targets(shape.places());
  EvalCounts total;
  for (int64_t i = 0; i < batches.size(); ++i) {
    EvalCounts counts = batches.fill(i, tokens, targets);
    total.targets += counts.targets;
    total.characters += counts.characters;
  }
  EXPECT_EQ(total.targets, shard.size() - 1);
  EXPECT_EQ(total.characters, countCodePoints(text));
}
