//===- TopologyTest.cpp - random numbers and topology routines ------------===//
//
// Against brute force on a dense mask with a full sort of all keys, and through the ABI's tables.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Topology.h"
#include "runtime/cpu/Context.h"
#include "runtime/cpu/Normal.h"
#include "runtime/cpu/Philox.h"
#include "runtime/support/AllocationLog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

using namespace smet::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A topology that owns its arrays.
struct Owned {
  Owned(BlockGrid grid, int64_t nnz)
      : positions(grid.rowBlocks() + 1), tPositions(grid.colBlocks() + 1), tPerm(nnz), coordinates(nnz),
        tCoordinates(nnz), view{{grid, nnz, positions.data(), Coordinates(coordinates.data(), grid.colBlocks())},
                                tPositions.data(),
                                Coordinates(tCoordinates.data(), grid.rowBlocks()),
                                tPerm.data()} {}

  std::vector<int32_t> positions, tPositions, tPerm;
  std::vector<uint32_t> coordinates, tCoordinates; // wide enough for both widths
  Topology view;
};

std::vector<int64_t> blocksOf(const Topology &t) {
  std::vector<int64_t> blocks;
  for (int64_t row = 0; row < t.grid.rowBlocks(); ++row)
    for (int64_t s = t.positions[row]; s < t.positions[row + 1]; ++s)
      blocks.push_back(row * t.grid.colBlocks() + t.coordinates[s]);
  return blocks;
}

/// Exact count, sorted rows, no duplicates, and a transposed index that lists the same blocks by columns.
void expectConsistent(const Topology &t) {
  ASSERT_EQ(t.positions[0], 0);
  ASSERT_EQ(t.positions[t.grid.rowBlocks()], t.nnz);
  std::vector<int64_t> blocks = blocksOf(t);
  ASSERT_EQ(int64_t(blocks.size()), t.nnz);
  for (size_t i = 1; i < blocks.size(); ++i)
    ASSERT_LT(blocks[i - 1], blocks[i]);

  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> columns; // column -> (row, slot)
  for (int64_t s = 0; s < t.nnz; ++s)
    columns[blocks[s] % t.grid.colBlocks()].push_back({blocks[s] / t.grid.colBlocks(), s});
  ASSERT_EQ(t.tPositions[0], 0);
  for (int64_t col = 0; col < t.grid.colBlocks(); ++col) {
    std::vector<std::pair<int64_t, int64_t>> found;
    for (int64_t i = t.tPositions[col]; i < t.tPositions[col + 1]; ++i)
      found.push_back({t.tCoordinates[i], t.tPerm[i]});
    ASSERT_EQ(found, columns[col]) << "column " << col;
  }
}

/// The k blocks with the smallest keys by a full sort.
std::vector<int64_t> smallestKeys(std::vector<int64_t> eligible, int64_t k, int64_t seed, int64_t layer,
                                  int64_t update) {
  RandomSource source{RandomStream::Topology, seed, layer, update};
  std::ranges::sort(eligible, {}, [&](int64_t b) { return std::pair(randomKey(source, b), b); });
  eligible.resize(k);
  std::ranges::sort(eligible);
  return eligible;
}

std::vector<int64_t> allBlocks(const BlockGrid &grid) {
  std::vector<int64_t> all(grid.blocks());
  for (int64_t b = 0; b < grid.blocks(); ++b)
    all[b] = b;
  return all;
}

std::unique_ptr<ThreadPool> poolOf(int threads) { return ThreadPool::create(threads).value(); }

int64_t prunedBy(std::vector<float> score, double rate, int64_t blocks) {
  std::vector<int8_t> keep(score.size());
  EXPECT_TRUE(prune(score, rate, blocks, keep));
  return std::ranges::count(keep, 0);
}

} // namespace

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

// kat_vectors of Random123: philox4x32, 10 rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox4x32({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Philox, EveryPartOfASourceMatters) {
  const RandomSource base{RandomStream::Topology, 1, 2, 3};
  std::set<uint64_t> keys = {randomKey(base, 4), randomKey(base, 5), randomKey(base, (1ull << 32) + 4)};
  for (RandomSource other :
       {RandomSource{RandomStream::Normal, 1, 2, 3}, RandomSource{RandomStream::Topology, 2, 2, 3},
        RandomSource{RandomStream::Topology, 1 + (1ll << 32), 2, 3}, RandomSource{RandomStream::Topology, 1, 3, 3},
        RandomSource{RandomStream::Topology, 1, 2, 4}})
    keys.insert(randomKey(other, 4));
  EXPECT_EQ(keys.size(), 8u);
}

TEST(InitNormal, MomentsAreThoseOfTheNormalDistribution) {
  std::vector<float> values(1 << 20);
  initNormalDense(*poolOf(2), 7, 3, 0.02, values);
  double m1 = 0, m2 = 0, m4 = 0, within = 0;
  for (float f : values) {
    double z = f / 0.02;
    m1 += z, m2 += z * z, m4 += z * z * z * z, within += std::abs(z) < 1;
  }
  double n = double(values.size());
  EXPECT_NEAR(m1 / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(m2 / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(m4 / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(within / n, 0.6826895, 5 * 0.5 / std::sqrt(n));
}

TEST(InitNormal, IsBoxAndMullerOnAnyInstructionSet) {
  RandomSource source{RandomStream::Normal, 11, 5};
  constexpr uint64_t count = 1 << 18;
  std::vector<uint64_t> indices(count);
  for (uint64_t i = 0; i < count; ++i)
    indices[i] = i * i; // also beyond 32 bits
  std::vector<double> first(2 * count);
  normalPairsFunctions()[0](source, indices, first.data());
  for (NormalPairsFunction function : normalPairsFunctions()) {
    std::vector<double> pairs(2 * count);
    function(source, indices, pairs.data());
    EXPECT_TRUE(pairs == first);
  }
  // The C library's functions, in more digits than a double has.
  using Real = long double;
  for (uint64_t i = 0; i < count; ++i) {
    PhiloxCounter w = source.words(indices[i]);
    Real u = Real(((w[0] | uint64_t(w[1]) << 32) >> 11) + 1) * 0x1p-53L;
    Real angle = 2 * std::numbers::pi_v<Real> * (Real((w[2] | uint64_t(w[3]) << 32) >> 11) * 0x1p-53L);
    Real radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(first[2 * i], double(radius * std::cos(angle)), 2e-15 * double(radius)) << i;
    ASSERT_NEAR(first[2 * i + 1], double(radius * std::sin(angle)), 2e-15 * double(radius)) << i;
  }
}

TEST(InitNormal, ElementIIsNumberIModuloTwoOfItsPair) {
  for (size_t count : {size_t(1), size_t(1023), size_t(1024), size_t(1025), size_t(100'001)}) {
    std::vector<uint64_t> indices(count / 2 + 1);
    std::iota(indices.begin(), indices.end(), 0);
    std::vector<double> pairs(2 * indices.size());
    normalPairsFunctions()[0]({RandomStream::Normal, 13, 4}, indices, pairs.data());
    for (int threads : {1, 8}) {
      std::vector<float> values(count);
      initNormalDense(*poolOf(threads), 13, 4, 0.5, values);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(values[i], float(0.5 * pairs[i])) << i;
    }
  }
}

TEST(InitNormal, SparseIsASubsetOfDense) {
  // Odd rows, so that pairs straddle them; neighbours in a pair; runs of more than a batch.
  for (auto [grid, nnz] : {std::pair(BlockGrid{12, 35, 3, 5}, int64_t(11)),
                           {BlockGrid{40, 101, 1, 1}, 3000},
                           {BlockGrid{3, 4503, 1, 1501}, 7}}) {
    Owned t(grid, nnz);
    initTopology(*poolOf(1), t.view, 5, 1);
    int64_t size = grid.blockRows * grid.blockCols;
    std::vector<float> dense(grid.rows * grid.cols), sparse(nnz * size);
    initNormalDense(*poolOf(8), 5, 1, 0.02, dense);
    initNormalSparse(*poolOf(2), t.view, 5, 1, 0.02, sparse.data());
    auto blocks = blocksOf(t.view);
    for (int64_t s = 0; s < nnz; ++s) {
      int64_t row = blocks[s] / grid.colBlocks() * grid.blockRows, col = blocks[s] % grid.colBlocks() * grid.blockCols;
      for (int64_t i = 0; i < size; ++i)
        ASSERT_EQ(sparse[s * size + i], dense[(row + i / grid.blockCols) * grid.cols + col + i % grid.blockCols]);
    }
  }
}

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

TEST(InitTopology, TakesTheSmallestKeysForAnyThreadCount) {
  for (BlockGrid grid : {BlockGrid{688, 256, 16, 16}, BlockGrid{300, 500, 1, 1}, BlockGrid{64, 96, 2, 3}})
    for (double density : {0.001, 0.1, 0.5, 0.97, 1.0}) {
      int64_t nnz = std::max<int64_t>(1, int64_t(density * double(grid.blocks())));
      auto expected = smallestKeys(allBlocks(grid), nnz, 42, 9, 0);
      for (int threads : {1, 2, 8}) {
        Owned t(grid, nnz);
        initTopology(*poolOf(threads), t.view, 42, 9);
        expectConsistent(t.view);
        EXPECT_EQ(blocksOf(t.view), expected);
      }
    }
}

TEST(InitTopology, OneBlockMoreChangesNothingElse) {
  BlockGrid grid{200, 200, 1, 1};
  Owned a(grid, 4000), b(grid, 4001);
  initTopology(*poolOf(2), a.view, 1, 1);
  initTopology(*poolOf(2), b.view, 1, 1);
  auto small = blocksOf(a.view), large = blocksOf(b.view);
  EXPECT_TRUE(std::ranges::includes(large, small));
}

TEST(InitTopology, WideCoordinates) {
  BlockGrid grid{3, 70000, 1, 1}; // columns need u32, rows u16
  Owned t(grid, 1000);
  initTopology(*poolOf(2), t.view, 3, 0);
  expectConsistent(t.view);
  EXPECT_EQ(blocksOf(t.view), smallestKeys(allBlocks(grid), 1000, 3, 0, 0));
  EXPECT_GT(*std::ranges::max_element(t.coordinates), 65535u);
}

TEST(InitTopology, KeepsNoArrayOfTheGridsSize) {
  BlockGrid grid{2048, 5461, 1, 1};
  Owned t(grid, 20000);
  initTopology(*poolOf(2), t.view, 3, 0);
  for (const Allocation &a : allocationLog())
    if (a.name == "topology candidates") {
      EXPECT_LT(a.bytes, grid.blocks());
      EXPECT_GE(a.bytes, 20000 * 16);
      return;
    }
  FAIL() << "not recorded";
}

TEST(TopologyFromMask, AnyElementMakesItsBlockActive) {
  BlockGrid grid{6, 8, 3, 2}; // 2 x 4 blocks
  std::vector<int8_t> mask(48);
  mask[2 * 8 + 7] = 1;  // the last element of block 3
  mask[3 * 8 + 0] = -1; // the first of block 4
  mask[3 * 8 + 5] = 2;  // block 6, twice
  mask[5 * 8 + 4] = INT8_MIN;
  Owned t(grid, 3);
  ASSERT_TRUE(topologyFromMask(mask, t.view));
  expectConsistent(t.view);
  EXPECT_THAT(blocksOf(t.view), ElementsAre(3, 4, 6));
}

TEST(TopologyFromMask, RefusesAnotherCountAndChangesNothing) {
  Owned t({4, 4, 1, 1}, 2);
  std::vector<int8_t> mask(16);
  mask[5] = mask[6] = 1;
  ASSERT_TRUE(topologyFromMask(mask, t.view));
  mask[6] = 0;
  EXPECT_THAT(topologyFromMask(mask, t.view).error().message,
              HasSubstr("sets 1 blocks of 1 x 1, the topology has nnz = 2"));
  mask[8] = mask[9] = 1;
  EXPECT_THAT(topologyFromMask(mask, t.view).error().message, HasSubstr("sets 3 blocks"));
  EXPECT_THAT(blocksOf(t.view), ElementsAre(5, 6));
}

//===----------------------------------------------------------------------===//
// Pruning
//===----------------------------------------------------------------------===//

TEST(Prune, TakesTheSmallestAndTiesByLowerSlot) {
  std::vector<float> score = {5, 1, 3, 1, 1, 9, 0, 1};
  std::vector<int8_t> keep(8);
  ASSERT_TRUE(prune(score, 0.5, 100, keep));
  EXPECT_THAT(keep, ElementsAre(1, 0, 1, 0, 0, 1, 0, 1));
  ASSERT_TRUE(prune(score, 0.25, 100, keep));
  EXPECT_THAT(keep, ElementsAre(1, 0, 1, 1, 1, 1, 0, 1));
}

TEST(Prune, CountIsTheFloorAndLimitedByTheInactive) {
  std::vector<float> score(10, 1.0f);
  EXPECT_EQ(prunedBy(score, 0.29, 100), 2);
  EXPECT_EQ(prunedBy(score, 0.3, 100), 3);
  EXPECT_EQ(prunedBy(score, 0.05, 100), 0);
  EXPECT_EQ(prunedBy(score, 0, 100), 0);
  EXPECT_EQ(prunedBy(score, 1, 100), 10);
  EXPECT_EQ(prunedBy(score, 0.5, 12), 2);
  EXPECT_EQ(prunedBy(score, 0.5, 10), 0) << "a full topology stays";
}

TEST(Prune, RefusesNanAndBadRates) {
  std::vector<float> score = {1, 2, std::nanf(""), 4};
  std::vector<int8_t> keep(4);
  EXPECT_THAT(prune(score, 0.5, 100, keep).error().message, HasSubstr("slot 2 is NaN"));
  score[2] = INFINITY;
  EXPECT_TRUE(prune(score, 0.5, 100, keep));
  EXPECT_THAT(prune(score, 1.5, 100, keep).error().message, HasSubstr("the rate is 1.5"));
  EXPECT_THAT(prune(score, std::nan(""), 100, keep).error().message, HasSubstr("the rate is nan"));
}

//===----------------------------------------------------------------------===//
// Growing and updating
//===----------------------------------------------------------------------===//

TEST(GrowRandom, DrawsInactiveBlocksAsBruteForceDoes) {
  BlockGrid grid{90, 70, 1, 1};
  for (bool regrowPruned : {false, true}) {
    Owned t(grid, 3000);
    initTopology(*poolOf(1), t.view, 8, 2);
    std::vector<int8_t> keep(3000, 1);
    for (int64_t s = 0; s < 3000; s += 4)
      keep[s] = 0;
    std::vector<int64_t> eligible;
    for (int64_t b = 0; b < grid.blocks(); ++b) {
      int64_t slot = t.view.slot(b);
      if (slot < 0 || (regrowPruned && keep[slot] == 0))
        eligible.push_back(b);
    }
    auto expected = smallestKeys(eligible, 750, 8, 2, 17);
    expected.resize(3000, -1);
    for (int threads : {1, 2, 8}) {
      std::vector<int32_t> grown(3000);
      ASSERT_TRUE(growRandom(*poolOf(threads), t.view, keep, {8, 2, 17, regrowPruned}, grown));
      EXPECT_EQ(std::vector<int64_t>(grown.begin(), grown.end()), expected);
    }
  }
}

TEST(GrowRandom, TooFewInactiveBlocksIsAnError) {
  Owned t({4, 4, 1, 1}, 12);
  initTopology(*poolOf(1), t.view, 1, 1);
  std::vector<int8_t> keep(12, 0);
  std::vector<int32_t> grown(12);
  EXPECT_THAT(growRandom(*poolOf(1), t.view, keep, {1, 1, 1, false}, grown).error().message,
              HasSubstr("12 blocks were pruned, but only 4"));
  EXPECT_TRUE(growRandom(*poolOf(1), t.view, keep, {1, 1, 1, true}, grown));
}

TEST(UpdateTopology, AThousandUpdatesKeepEveryInvariant) {
  BlockGrid grid{48, 60, 2, 3};
  const int64_t nnz = 97;
  std::vector<std::vector<int64_t>> ends; // by thread count
  for (int threads : {1, 2, 8}) {
    auto pool = poolOf(threads);
    Owned t(grid, nnz);
    initTopology(*pool, t.view, 11, 4);
    // Each slot's weights carry its block's number, so that remap can be checked on a map.
    std::vector<int64_t> weight = blocksOf(t.view);
    std::vector<int16_t> age(nnz, 1);
    std::mt19937 random(5);
    for (int64_t update = 1; update <= 1000; ++update) {
      std::vector<float> score(nnz);
      for (float &s : score)
        s = float(random() % 50);
      std::vector<int8_t> keep(nnz);
      std::vector<int32_t> grown(nnz), slotMap(nnz);
      std::vector<int64_t> before = blocksOf(t.view);
      ASSERT_TRUE(prune(score, 0.3, grid.blocks(), keep));
      ASSERT_TRUE(growRandom(*pool, t.view, keep, {11, 4, update, false}, grown));
      ASSERT_TRUE(updateTopology(keep, grown, t.view, slotMap));
      ASSERT_TRUE(remap(slotMap, reinterpret_cast<std::byte *>(weight.data()), 8));
      ASSERT_TRUE(remap(slotMap, reinterpret_cast<std::byte *>(age.data()), 2));
      ASSERT_NO_FATAL_FAILURE(expectConsistent(t.view));
      std::vector<int64_t> after = blocksOf(t.view);
      int64_t regrown = 0;
      for (int64_t s = 0; s < nnz; ++s) {
        bool old = std::ranges::binary_search(before, after[s]);
        ASSERT_EQ(old, slotMap[s] >= 0);
        ASSERT_EQ(weight[s], old ? after[s] : 0);
        ASSERT_EQ(age[s], old ? 1 : 0);
        if (old)
          ASSERT_EQ(before[slotMap[s]], after[s]);
        regrown += !old;
      }
      ASSERT_EQ(regrown, 29); // floor(0.3 * 97)
      weight = after;
      std::ranges::fill(age, 1);
    }
    ends.push_back(blocksOf(t.view));
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

TEST(UpdateTopology, RefusesWhatDoesNotFitAndChangesNothing) {
  Owned t({4, 4, 1, 1}, 6);
  initTopology(*poolOf(1), t.view, 1, 1);
  auto before = blocksOf(t.view);
  std::vector<int32_t> slotMap(6), grown(6, -1);
  std::vector<int8_t> keep = {1, 0, 1, 1, 1, 1};
  EXPECT_THAT(updateTopology(keep, grown, t.view, slotMap).error().message, HasSubstr("1 blocks pruned but 0 grown"));
  grown[0] = int32_t(before[3]);
  EXPECT_THAT(updateTopology(keep, grown, t.view, slotMap).error().message, HasSubstr("though it is active"));
  EXPECT_EQ(blocksOf(t.view), before);
  grown[0] = int32_t(before[1]); // pruned and regrown
  ASSERT_TRUE(updateTopology(keep, grown, t.view, slotMap));
  EXPECT_THAT(slotMap, ElementsAre(0, -1, 2, 3, 4, 5));
}

TEST(Remap, MovesBothWaysInPlace) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    int64_t nnz = 1 + random() % 40;
    std::vector<int32_t> slotMap(nnz, -1);
    // A random ascending partial map.
    std::vector<int32_t> slots(nnz), olds(nnz);
    for (int64_t i = 0; i < nnz; ++i)
      slots[i] = olds[i] = int32_t(i);
    std::ranges::shuffle(slots, random);
    std::ranges::shuffle(olds, random);
    int64_t kept = random() % (nnz + 1);
    std::sort(slots.begin(), slots.begin() + kept);
    std::sort(olds.begin(), olds.begin() + kept);
    for (int64_t i = 0; i < kept; ++i)
      slotMap[slots[i]] = olds[i];
    for (int64_t width : {1, 2, 12}) {
      std::vector<uint8_t> array(nnz * width), expected(nnz * width);
      for (uint8_t &byte : array)
        byte = uint8_t(random() | 1);
      for (int64_t s = 0; s < nnz; ++s)
        for (int64_t i = 0; i < width && slotMap[s] >= 0; ++i)
          expected[s * width + i] = array[slotMap[s] * width + i];
      ASSERT_TRUE(remap(slotMap, reinterpret_cast<std::byte *>(array.data()), width));
      ASSERT_EQ(array, expected);
    }
  }
  std::vector<int32_t> crossed = {1, 0};
  EXPECT_THAT(remap(crossed, nullptr, 4).error().message, HasSubstr("does not ascend"));
}

//===----------------------------------------------------------------------===//
// Through the ABI
//===----------------------------------------------------------------------===//

namespace {

/// An arena of 8-byte words; operands are given by the word they start at.
class RoutineTest : public testing::Test {
protected:
  template <typename T> T *at(int64_t word) { return reinterpret_cast<T *>(arena.data() + word); }
  int32_t call(smet_routine routine, std::vector<int64_t> operands, std::vector<int64_t> words) {
    std::vector<int64_t> table;
    for (int64_t word : operands)
      table.push_back(word * 8);
    table.insert(table.end(), words.begin(), words.end());
    return routine(context->abi(), reinterpret_cast<char *>(arena.data()), table.data());
  }

  std::unique_ptr<ThreadPool> pool = poolOf(2);
  std::unique_ptr<Context> context = Context::create(*pool).value();
  std::vector<int64_t> arena = std::vector<int64_t>(1000);
};

} // namespace

TEST_F(RoutineTest, AnUpdateFromDrawToRemap) {
  // 8 x 12 in blocks of 2 x 3: 4 x 4 blocks, 6 active. Words of the arena:
  enum {
    seed,
    update,
    rate,
    positions,
    coordinates = 10,
    tPositions = 20,
    tCoordinates = 30,
    tPerm = 40,
    values = 50,
    score = 100,
    keep = 110,
    grown = 120,
    slotMap = 130
  };
  *at<int64_t>(seed) = 99;
  *at<int64_t>(update) = 3;
  *at<double>(rate) = 0.5;
  const int64_t nnz = 6, layer = 2;
  smet_context &c = *context->abi();
  ASSERT_EQ(
      call(c.topology_init, {seed, positions, coordinates, tPositions, tCoordinates, tPerm}, {8, 12, 2, 3, nnz, layer}),
      SMET_OK);
  Topology t{{{8, 12, 2, 3}, nnz, at<int32_t>(positions), Coordinates(at<void>(coordinates), 4)},
             at<int32_t>(tPositions),
             Coordinates(at<void>(tCoordinates), 4),
             at<int32_t>(tPerm)};
  expectConsistent(t);
  EXPECT_EQ(blocksOf(t), smallestKeys(allBlocks(t.grid), nnz, 99, layer, 0));

  ASSERT_EQ(call(c.init_normal_sparse, {seed, positions, coordinates, values},
                 {8, 12, 2, 3, nnz, layer, std::bit_cast<int64_t>(0.5), /*is_bf16=*/0}),
            SMET_OK);
  std::vector<float> expected(36);
  initNormalSparse(*pool, t, 99, layer, 0.5, expected.data());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), at<float>(values)));
  ASSERT_EQ(call(c.init_normal_sparse, {seed, positions, coordinates, score},
                 {8, 12, 2, 3, nnz, layer, std::bit_cast<int64_t>(0.5), /*is_bf16=*/1}),
            SMET_OK);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(at<uint16_t>(score)[i], BF16(expected[i]).bits);

  std::copy_n(std::vector<float>{4, 1, 5, 2, 6, 3}.begin(), 6, at<float>(score));
  ASSERT_EQ(call(c.prune, {score, rate, keep}, {nnz, 16}), SMET_OK);
  EXPECT_THAT(std::vector(at<int8_t>(keep), at<int8_t>(keep) + 6), ElementsAre(1, 0, 1, 0, 1, 0));
  auto before = blocksOf(t);
  ASSERT_EQ(call(c.grow_random, {positions, coordinates, keep, seed, update, grown}, {8, 12, 2, 3, nnz, layer, 0}),
            SMET_OK);
  std::vector<int64_t> inactive;
  std::ranges::set_difference(allBlocks(t.grid), before, std::back_inserter(inactive));
  auto drawn = smallestKeys(inactive, 3, 99, layer, 3);
  EXPECT_THAT(std::vector(at<int32_t>(grown), at<int32_t>(grown) + 6),
              ElementsAre(drawn[0], drawn[1], drawn[2], -1, -1, -1));
  ASSERT_EQ(call(c.update_topology, {keep, grown, positions, coordinates, tPositions, tCoordinates, tPerm, slotMap},
                 {8, 12, 2, 3, nnz}),
            SMET_OK);
  expectConsistent(t);
  ASSERT_EQ(call(c.remap, {slotMap, values}, {nnz, 24}), SMET_OK);
  auto after = blocksOf(t);
  for (int64_t s = 0; s < nnz; ++s) {
    auto old = std::ranges::find(before, after[s]) - before.begin();
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(at<float>(values)[s * 6 + i], old < nnz ? expected[old * 6 + i] : 0);
  }
}

TEST_F(RoutineTest, FillWritesThePatternAndNoMore) {
  std::ranges::fill(arena, -1);
  smet_context &c = *context->abi();
  ASSERT_EQ(call(c.fill, {2}, {10, std::bit_cast<int32_t>(1.5f)}), SMET_OK);
  EXPECT_EQ(at<float>(2)[0], 1.5f);
  EXPECT_EQ(at<float>(2)[1], 1.5f);
  EXPECT_EQ(at<uint8_t>(2)[9], 0); // 1.5f is 0x3fc00000
  EXPECT_EQ(at<uint8_t>(2)[10], 0xff);
}

TEST_F(RoutineTest, ZerosReplaceWhatWasThereAndTouchNoFreshPage) {
  const int64_t page = sysconf(_SC_PAGESIZE), pages = 10'000, bytes = pages * page;
  auto *base = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(base, MAP_FAILED);
  madvise(base, bytes, MADV_NOHUGEPAGE); // pages are counted below
  auto fillZero = [&](int64_t begin, int64_t end) {
    const int64_t table[] = {begin, end - begin, 0};
    return context->abi()->fill(context->abi(), base, table);
  };
  auto resident = [&] {
    std::vector<unsigned char> flags(pages);
    EXPECT_EQ(mincore(base, bytes, flags.data()), 0);
    return std::ranges::count_if(flags, [](unsigned char flag) { return flag & 1; });
  };
  ASSERT_EQ(fillZero(0, bytes), SMET_OK);
  EXPECT_EQ(resident(), 0);

  const int64_t dirty[] = {100, page - 1, 6000 * page, 6001 * page + 7, bytes - 1};
  for (int64_t i : dirty)
    base[i] = 7;
  ASSERT_EQ(fillZero(192, bytes), SMET_OK);
  EXPECT_EQ(resident(), 4);
  for (int64_t i : dirty)
    EXPECT_EQ(base[i], i < 192 ? 7 : 0) << i;

  // Ends within pages, and ranges within one.
  for (auto [begin, end] : {std::pair(int64_t(192), bytes - 4), {page + 64, 4 * page + 6}, {640, 641}, {page, page}}) {
    std::memset(base, 7, bytes);
    ASSERT_EQ(fillZero(begin, end), SMET_OK);
    std::string_view all(base, bytes);
    EXPECT_EQ(all.find_first_not_of('\7'), begin < end ? begin : std::string_view::npos);
    EXPECT_EQ(all.find_first_not_of('\0', begin), end);
    EXPECT_EQ(all.find_first_not_of('\7', end), std::string_view::npos);
  }
  munmap(base, bytes);
}

TEST_F(RoutineTest, InitNormalDense) {
  *at<int64_t>(0) = 5;
  ASSERT_EQ(call(context->abi()->init_normal_dense, {0, 10}, {7, 3, std::bit_cast<int64_t>(0.02), /*is_bf16=*/0}),
            SMET_OK);
  std::vector<float> expected(7);
  initNormalDense(*pool, 5, 3, 0.02, expected);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), at<float>(10)));
  ASSERT_EQ(call(context->abi()->init_normal_dense, {0, 20}, {7, 3, std::bit_cast<int64_t>(0.02), /*is_bf16=*/1}),
            SMET_OK);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(at<uint16_t>(20)[i], BF16(expected[i]).bits);
}

TEST_F(RoutineTest, FailureIsAStatusAndAMessage) {
  at<float>(0)[1] = std::nanf("");
  *at<double>(10) = 0.5;
  EXPECT_EQ(call(context->abi()->prune, {0, 10, 20}, {4, 16}), SMET_ROUTINE_FAILED);
  EXPECT_EQ(context->message(), "prune: the score of slot 1 is NaN: a weight has become NaN");
}
