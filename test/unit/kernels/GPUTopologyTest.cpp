//===- GPUTopologyTest.cpp - topology updates on the emulated GPU ---------===//
//
// Against the routines of the CPU, called directly, to the bit; with the emulator's checks, threads in an order drawn
// at random.
//
//===----------------------------------------------------------------------===//
#include "CPUSparse.h"

#include "runtime/cpu/Topology.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <numeric>

using namespace smet;
using namespace smet::test;

namespace {

constexpr Target gpus[] = {Target::GPU, Target::GPUChecked};

std::string words(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "words [" : ", ") + std::to_string(value);
  return text + "]";
}

std::string scalar(const std::string &element) { return "tensor<" + element + ">"; }

//===----------------------------------------------------------------------===//
// prune
//===----------------------------------------------------------------------===//

/// `smet.prune` of scores, among `blocks`.
struct Pruning {
  Pruning(Target target, int64_t nnz, int64_t blocks)
      : kernel(entry("smet.routine \"prune\"", {{"score", tensorType({nnz})}, {"rate", scalar("f64")}},
                     {{"keep", tensorType({nnz}, "i8"), "output"}}, words({nnz, blocks})),
               target, 2) {}

  std::vector<int8_t> run(const Floats &score, double rate) {
    set(score, rate);
    EXPECT_TRUE(kernel.run());
    return kernel.get<int8_t>("keep");
  }
  std::string error(const Floats &score, double rate) {
    set(score, rate);
    return kernel.error();
  }
  void set(const Floats &score, double rate) {
    kernel.set("score", score);
    kernel.set<double>("rate", {rate});
  }

  Kernel kernel;
};

std::vector<int8_t> prunedByCPU(const Floats &score, double rate, int64_t blocks) {
  std::vector<int8_t> keep(score.size());
  EXPECT_TRUE(rt::prune(score, rate, blocks, keep));
  return keep;
}

} // namespace

// Some that no shortcut of an order by bits would get right, and many that are equal: the lower slots go.
TEST(GPUPrune, IsThatOfTheCPU) {
  std::mt19937 rng(1);
  float inf = std::numeric_limits<float>::infinity(), tiny = std::numeric_limits<float>::denorm_min();
  for (auto [nnz, blocks] : {std::pair<int64_t, int64_t>{1, 3}, {70, 90}, {5000, 40000}, {70, 70}}) {
    Floats normal = randomVector<float>(nnz, rng), equal(nnz, 0.25f), few = normal;
    const float special[] = {0.0f, -0.0f, tiny, -tiny, inf, -inf, 1.0f, 1.0000001f};
    for (float &score : few)
      score = special[rng() % std::size(special)];
    for (Target target : gpus) {
      Pruning pruning(target, nnz, blocks);
      for (const Floats &score : {normal, equal, few})
        for (double rate : {0.0, 1e-9, 0.2, 0.35, 1.0})
          ASSERT_EQ(pruning.run(score, rate), prunedByCPU(score, rate, blocks)) << nnz << " at " << rate;
    }
  }
}

TEST(GPUPrune, SaysWhatIsWrongAsTheCPUDoes) {
  Floats score(5000, 1.0f), bad = score;
  bad[4321] = -std::numeric_limits<float>::quiet_NaN();
  bad[4567] = std::numeric_limits<float>::quiet_NaN();
  for (Target target : gpus) {
    Pruning pruning(target, 5000, 9000);
    EXPECT_EQ(pruning.error(bad, 0.5), "main: prune: the score of slot 4321 is NaN: a weight has become NaN");
    // What follows leaves everything as it is.
    EXPECT_THAT(pruning.kernel.get<int8_t>("keep"), testing::Each(1));
    for (double rate : {-0.1, 1.5, double(NAN)}) {
      std::vector<int8_t> keep(score.size());
      EXPECT_EQ(pruning.error(score, rate), "main: " + rt::prune(score, rate, 9000, keep).error().message);
      EXPECT_THAT(pruning.kernel.get<int8_t>("keep"), testing::Each(1));
    }
  }
}

//===----------------------------------------------------------------------===//
// grow, update_topology, remap
//===----------------------------------------------------------------------===//

namespace {

/// Coordinates along an axis, as wide as the shape asks for.
std::string coordinateType(int64_t nnz, int64_t blocks) { return tensorType({nnz}, blocks <= 65536 ? "i16" : "i32"); }
std::vector<int32_t> coordinatesOf(Kernel &kernel, const std::string &name, int64_t blocks) {
  if (blocks > 65536)
    return kernel.get<int32_t>(name);
  auto narrow = kernel.get<uint16_t>(name);
  return {narrow.begin(), narrow.end()};
}

/// A topology as the CPU's routines take it.
struct OnCPU {
  explicit OnCPU(const Topology &t)
      : grid{t.rows, t.cols, t.blockRows, t.blockCols}, positions(t.positions), tPositions(t.tPositions),
        tPerm(t.tPerm), columns(t.nnz()), rows(t.nnz()) {
    for (int64_t i = 0; i < t.nnz(); ++i) {
      view().coordinates.set(i, t.coordinates[i]);
      view().tCoordinates.set(i, t.tCoordinates[i]);
    }
  }
  rt::Topology view() {
    return {{grid, int64_t(tPerm.size()), positions.data(), rt::Coordinates(columns.data(), grid.colBlocks())},
            tPositions.data(),
            rt::Coordinates(rows.data(), grid.rowBlocks()),
            tPerm.data()};
  }
  Topology get() {
    Topology t{grid.rows, grid.cols, grid.blockRows, grid.blockCols, positions, {}, tPositions, {}, tPerm};
    for (size_t i = 0; i < tPerm.size(); ++i) {
      t.coordinates.push_back(int32_t(view().coordinates[i]));
      t.tCoordinates.push_back(int32_t(view().tCoordinates[i]));
    }
    return t;
  }

  rt::BlockGrid grid;
  std::vector<int32_t> positions, tPositions, tPerm;
  std::vector<uint32_t> columns, rows; ///< wide enough for both widths
};

/// A topology and what is pruned of it.
struct GPUTopology : testing::TestWithParam<Case> {
  const Case &c = GetParam();
  std::mt19937 rng{3};
  Topology t = c.topology(rng);
  int64_t nnz = t.nnz(), rowBlocks = c.rows / c.blockRows, colBlocks = c.cols / c.blockCols;
  std::vector<int64_t> shape{c.rows, c.cols, c.blockRows, c.blockCols, nnz};
  /// Checks of many accesses take long.
  std::vector<Target> targets =
      rowBlocks * colBlocks > 10000 ? std::vector{Target::GPU} : std::vector{Target::GPU, Target::GPUChecked};

  std::vector<int8_t> pruned(double rate) {
    return prunedByCPU(randomVector<float>(nnz, rng), rate, rowBlocks * colBlocks);
  }
  std::vector<int32_t> grownByCPU(const std::vector<int8_t> &keep, const rt::Growth &growth) {
    std::vector<int32_t> grown(nnz);
    OnCPU active(t);
    EXPECT_TRUE(rt::growRandom(**rt::ThreadPool::create(1), active.view(), keep, growth, grown));
    return grown;
  }
};

/// Whole and partial rows, few and many digits of columns, one piece and many, one inactive block and none.
std::vector<Case> topologies() {
  return {{64, 96, 16, 16, 1, 0.3}, {36, 64, 1, 16, 1, 0.3},    {40, 56, 1, 1, 1, 0.2},   {27, 55, 3, 5, 1, 0.4},
          {6, 8, 2, 2, 1, 0.6},     {384, 128, 128, 128, 1, 1}, {60, 80, 1, 1, 1, 0.6},   {30, 90, 1, 1, 1, 0.999},
          {140, 270, 1, 1, 1, 0.2}, {2, 66000, 1, 1, 1, 0.01},  {66000, 2, 1, 1, 1, 0.01}};
}

} // namespace

TEST_P(GPUTopology, GrowIsThatOfTheCPU) {
  for (Target target : targets)
    for (bool regrow : {false, true}) {
      rt::Growth growth{-7'000'000'011, 5, 300, regrow};
      std::vector<int64_t> all = shape;
      all.insert(all.end(), {growth.layer, regrow});
      Kernel kernel(entry("smet.routine \"grow_random\"",
                          {{"t.positions", tensorType({rowBlocks + 1}, "i32")},
                           {"t.coordinates", coordinateType(nnz, colBlocks)},
                           {"keep", tensorType({nnz}, "i8")},
                           {"seed", scalar("i64")},
                           {"update", scalar("i64")}},
                          {{"grown", tensorType({nnz}, "i32"), "output"}}, words(all)),
                    target, 2);
      kernel.set("t.positions", t.positions);
      if (colBlocks <= 65536)
        kernel.set("t.coordinates", std::vector<uint16_t>(t.coordinates.begin(), t.coordinates.end()));
      else
        kernel.set("t.coordinates", t.coordinates);
      kernel.set<int64_t>("seed", {growth.seed});
      kernel.set<int64_t>("update", {growth.update});
      for (double rate : {0.0, 0.3, 1.0}) {
        auto keep = pruned(rate);
        kernel.set("keep", keep);
        ASSERT_TRUE(kernel.run());
        ASSERT_EQ(kernel.get<int32_t>("grown"), grownByCPU(keep, growth)) << "rate " << rate << ", regrow " << regrow;
      }
    }
}

TEST_P(GPUTopology, UpdateIsThatOfTheCPU) {
  for (Target target : targets) {
    Kernel kernel(entry("smet.routine \"update_topology\"",
                        {{"keep", tensorType({nnz}, "i8")}, {"grown", tensorType({nnz}, "i32")}},
                        {{"t.positions", tensorType({rowBlocks + 1}, "i32"), "topology"},
                         {"t.coordinates", coordinateType(nnz, colBlocks), "topology"},
                         {"t.t_positions", tensorType({colBlocks + 1}, "i32"), "topology"},
                         {"t.t_coordinates", coordinateType(nnz, rowBlocks), "topology"},
                         {"t.t_perm", tensorType({nnz}, "i32"), "topology"},
                         {"map", tensorType({nnz}, "i32"), "output"}},
                        words(shape)),
                  target, 2);
    for (auto [rate, regrow] : {std::pair{0.0, false}, {0.3, false}, {0.5, true}, {1.0, false}}) {
      auto keep = pruned(rate);
      auto grown = grownByCPU(keep, {1, 2, 3, regrow});
      t.fill(kernel, "t");
      kernel.set("keep", keep);
      kernel.set("grown", grown);
      ASSERT_TRUE(kernel.run());
      OnCPU cpu(t);
      std::vector<int32_t> map(nnz);
      ASSERT_TRUE(rt::updateTopology(keep, grown, cpu.view(), map));
      Topology expected = cpu.get();
      EXPECT_EQ(kernel.get<int32_t>("map"), map);
      EXPECT_EQ(kernel.get<int32_t>("t.positions"), expected.positions);
      EXPECT_EQ(coordinatesOf(kernel, "t.coordinates", colBlocks), expected.coordinates);
      EXPECT_EQ(kernel.get<int32_t>("t.t_positions"), expected.tPositions);
      EXPECT_EQ(coordinatesOf(kernel, "t.t_coordinates", rowBlocks), expected.tCoordinates);
      EXPECT_EQ(kernel.get<int32_t>("t.t_perm"), expected.tPerm);
    }
  }
}

TEST_P(GPUTopology, RemapIsThatOfTheCPU) {
  auto keep = pruned(0.4);
  std::vector<int32_t> map(nnz);
  OnCPU cpu(t);
  ASSERT_TRUE(rt::updateTopology(keep, grownByCPU(keep, {1, 2, 3, false}), cpu.view(), map));
  auto check = [&]<typename T>(T, const std::string &element, const std::vector<int64_t> &perSlot, Target target) {
    std::vector<int64_t> sizes{nnz};
    sizes.insert(sizes.end(), perSlot.begin(), perSlot.end());
    Kernel kernel(entry("smet.routine \"remap\"", {{"map", tensorType({nnz}, "i32")}},
                        {{"array", tensorType(sizes, element), "state"}},
                        words({nnz, int64_t(sizeof(T)) * (perSlot.empty() ? 1 : perSlot[0] * perSlot[1])})),
                  target, 2);
    std::vector<T> values(kernel.get<T>("array").size());
    for (T &value : values)
      value = T(rng()); // any bits: NaN too
    kernel.set("map", map);
    kernel.set("array", values);
    ASSERT_TRUE(kernel.run());
    ASSERT_TRUE(rt::remap(map, reinterpret_cast<std::byte *>(values.data()), values.size() / nnz * sizeof(T)));
    EXPECT_EQ(kernel.get<T>("array"), values) << element;
  };
  for (Target target : targets) {
    check(float(), "f32", {c.blockRows, c.blockCols}, target);
    check(uint16_t(), "bf16", {c.blockRows, c.blockCols}, target);
    check(uint16_t(), "i16", {}, target);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, GPUTopology, testing::ValuesIn(topologies()));

namespace {

/// The updates of two layers of one topology, whose scores are inputs.
std::string updatesOfTwoLayers(const Topology &t) {
  std::string values = tensorType({t.nnz(), 1, 1}), age = tensorType({t.nnz()}, "i16"), parameters, results, returned,
              types, body;
  auto argument = [&](const std::string &name, const std::string &type, const std::string &role) {
    bool isWritten = role != "input";
    parameters += fmt::format("{}%{}: {} {{smet.name = \"{}\", smet.role = \"{}\", bufferization.writable = {}}}",
                              parameters.empty() ? "" : ", ", name, type, name, role, isWritten);
    if (!isWritten)
      return;
    const char *comma = results.empty() ? "" : ", ";
    results += fmt::format("{}{} {{smet.name = \"{}\"}}", comma, type, name);
    returned += fmt::format("{}%new_{}", comma, name);
    types += comma + type;
  };
  argument("rate", scalar("f64"), "input");
  argument("seed", scalar("i64"), "input");
  argument("update", scalar("i64"), "input");
  for (int layer : {0, 1}) {
    std::string l = std::to_string(layer);
    argument("score" + l, tensorType({t.nnz()}), "input");
    argument("t" + l, t.type(), "topology");
    argument("w" + l, values, "state");
    argument("age" + l, age, "state");
    body += fmt::format(R"(
      %keep{0} = smet.prune %t{0}, %score{0}, %rate : {1}, tensor<{2}xf32>, tensor<f64> -> tensor<{2}xi8>
      %grown{0} = smet.grow <random> %t{0}, %keep{0}, %seed, %update {{layer = {0}}}
          : {1}, tensor<{2}xi8>, tensor<i64>, tensor<i64> -> tensor<{2}xi32>
      %new_t{0}, %map{0} = smet.update_topology %t{0}, %keep{0}, %grown{0}
          : {1}, tensor<{2}xi8>, tensor<{2}xi32> -> tensor<{2}xi32>
      %new_w{0} = smet.remap %map{0}, %w{0} : tensor<{2}xi32>, {3}
      %new_age{0} = smet.remap %map{0}, %age{0} : tensor<{2}xi32>, {4})",
                        layer, t.type(), t.nnz(), values, age);
  }
  return fmt::format("func.func @main({}) -> ({}) {{{}\n  return {} : {}\n}}\n", parameters, results, body, returned,
                     types);
}

void expectSameState(Kernel &a, Kernel &b) {
  for (std::string layer : {"0", "1"}) {
    EXPECT_EQ(a.get<float>("w" + layer), b.get<float>("w" + layer));
    EXPECT_EQ(a.get<uint16_t>("age" + layer), b.get<uint16_t>("age" + layer));
    for (std::string array : {".positions", ".t_positions", ".t_perm"})
      EXPECT_EQ(a.get<int32_t>("t" + layer + array), b.get<int32_t>("t" + layer + array)) << array;
    for (std::string array : {".coordinates", ".t_coordinates"})
      EXPECT_EQ(a.get<uint16_t>("t" + layer + array), b.get<uint16_t>("t" + layer + array)) << array;
  }
}

} // namespace

// Layers of one shape share kernels, and draw other blocks. After an error everything is as it was.
TEST(GPUTopologyUpdates, AreThoseOfTheCPU) {
  std::mt19937 rng(5);
  Topology t = Case{40, 56, 1, 1, 1, 0.2}.topology(rng);
  std::string text = updatesOfTwoLayers(t);
  Kernel cpu(text, Target::CPU), gpu(text, Target::GPU, 2);
  auto forBoth = [&](auto &&body) {
    body(cpu);
    body(gpu);
  };
  Floats w(t.nnz());
  std::iota(w.begin(), w.end(), 1);
  forBoth([&](Kernel &kernel) {
    kernel.set<int64_t>("seed", {17});
    kernel.set<double>("rate", {0.3});
    for (std::string layer : {"0", "1"}) {
      t.fill(kernel, "t" + layer);
      kernel.set("w" + layer, w);
      kernel.set("age" + layer, std::vector<uint16_t>(w.begin(), w.end()));
    }
  });
  for (int64_t update : {1, 2, 3}) {
    Floats scores[] = {randomVector<float>(t.nnz(), rng), randomVector<float>(t.nnz(), rng)};
    forBoth([&](Kernel &kernel) {
      kernel.set("score0", scores[0]);
      kernel.set("score1", scores[1]);
      kernel.set<int64_t>("update", {update});
      ASSERT_TRUE(kernel.run());
    });
    expectSameState(gpu, cpu);
  }
  EXPECT_NE(gpu.get<uint16_t>("t0.coordinates"), gpu.get<uint16_t>("t1.coordinates"));
  Floats bad(t.nnz(), 1.0f);
  bad[3] = NAN;
  forBoth([&](Kernel &kernel) {
    kernel.set("score0", bad);
    kernel.set("score1", bad);
  });
  EXPECT_EQ(gpu.error(), cpu.error());
  expectSameState(gpu, cpu);
}
