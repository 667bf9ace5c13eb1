//===- BF16Test.cpp - arrays stored in bf16 -------------------------------===//
//
// Kernels compute in f32 whatever arrays are stored as: what they give for bf16 is what plain loops give for the
// rounded inputs, rounded once.
//
//===----------------------------------------------------------------------===//
#include "CPUSparse.h"
#include "Halves.h"
#include "PlainLoops.h"

#include <limits>

using namespace smet;
using namespace smet::test;
using rt::BF16;

namespace {

/// Whether every element is the nearest bf16 of what is expected, or its neighbour where that lies near the middle.
void expectRounded(const Halves &found, const Doubles &expected, double tolerance = 1.0 / 256) {
  ASSERT_EQ(found.size(), expected.size());
  double scale = 0;
  for (double value : expected)
    scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(toFloat(found[i]), expected[i], tolerance * std::abs(expected[i]) + 1e-6 * scale) << i;
}

} // namespace

TEST(BF16, RoundsToNearest) {
  EXPECT_EQ(BF16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BF16(1.00390625f).bits, 0x3f81);                       // halfway, away from zero
  EXPECT_EQ(BF16(-1.01171875f).bits, 0xbf82);                      // halfway, away from zero
  EXPECT_EQ(BF16(std::nextafter(1.00390625f, 1.0f)).bits, 0x3f80); // just below
  EXPECT_EQ(BF16(-3.3895314e38f).bits, 0xff7f);                    // the largest
  EXPECT_EQ(BF16(3.4e38f).bits, 0x7f80);                           // beyond it
  EXPECT_TRUE(std::isnan(float(BF16(std::bit_cast<float>(0x7f800001u)))));
}

// Generated code against the runtime's conversion: special values, halfway cases, all exponents.
TEST(BF16, KernelsRoundAlike) {
  std::string half = tensorType({70, 48}, "bf16"), whole = tensorType({70, 48});
  Kernel kernel(entry("nn.add", {{"a", half}, {"b", whole}}, {{"c", half, "output"}}), Target::CPU);
  std::mt19937 rng(1);
  Floats b(70 * 48);
  for (float &value : b)
    value = std::bit_cast<float>(uint32_t(rng()));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (auto [i, value] : {std::pair(0, infinity),
                          {1, -infinity},
                          {2, std::bit_cast<float>(0x7f800001u)},
                          {3, 1.00390625f},
                          {4, 1.01171875f},
                          {5, 3.4e38f},
                          {6, -0.0f},
                          {7, 1e-40f},
                          {8, std::bit_cast<float>(0xffffffffu)}})
    b[i] = value;
  kernel.set("a", Halves(b.size(), 0x8000)); // -0 changes nothing
  kernel.set("b", b);
  ASSERT_TRUE(kernel.run());
  Halves c = kernel.get<uint16_t>("c");
  for (size_t i = 0; i < b.size(); ++i)
    if (std::isnan(b[i]))
      EXPECT_TRUE(std::isnan(toFloat(c[i]))) << i;
    else
      EXPECT_EQ(c[i], BF16(b[i]).bits) << b[i];
}

namespace {

std::string spmmText(const Case &c, const Topology &t, bool transpose, const std::string &attributes = "") {
  int64_t in = transpose ? c.rows : c.cols, out = transpose ? c.cols : c.rows;
  return entry("smet.spmm",
               {{"t", t.type()},
                {"w", tensorType({t.nnz(), c.blockRows, c.blockCols}, "bf16")},
                {"x", tensorType({c.tokens, in}, "bf16")}},
               {{"y", tensorType({c.tokens, out}, "bf16"), "output"}},
               "{" + std::string(transpose ? "transpose" : "") + (transpose && !attributes.empty() ? ", " : "") +
                   attributes + "}");
}

std::string sddmmText(const Case &c, const Topology &t, const std::string &attributes = "") {
  return entry(
      "smet.sddmm",
      {{"t", t.type()}, {"x", tensorType({c.tokens, c.cols}, "bf16")}, {"dy", tensorType({c.tokens, c.rows}, "bf16")}},
      {{"dw", tensorType({t.nnz(), c.blockRows, c.blockCols}), "output"}}, "{" + attributes + "}");
}

/// Every entry point computes that product of random values.
void expectSpmm(Kernel &kernel, const std::vector<std::string> &entries, const Case &c, const Topology &t,
                bool transpose, std::mt19937 &rng) {
  int64_t in = transpose ? c.rows : c.cols, out = transpose ? c.cols : c.rows;
  Halves w = toBF16(randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng));
  Halves x = toBF16(randomVector<float>(c.tokens * in, rng));
  t.fill(kernel, "t");
  kernel.set("w", w);
  kernel.set("x", x);
  Doubles expected = plainSpmm(t, toFloats(w), toFloats(x), Doubles(c.tokens * out), c.tokens, transpose);
  for (const std::string &name : entries) {
    SCOPED_TRACE(testing::Message() << c << (transpose ? " transposed, " : ", ") << name);
    kernel.set("y", Halves(c.tokens * out, 0x7fc0)); // NaN
    ASSERT_TRUE(kernel.run(name));
    expectRounded(kernel.get<uint16_t>("y"), expected);
  }
}

void expectSddmm(Kernel &kernel, const std::vector<std::string> &entries, const Case &c, const Topology &t,
                 std::mt19937 &rng) {
  Halves x = toBF16(randomVector<float>(c.tokens * c.cols, rng)),
         dy = toBF16(randomVector<float>(c.tokens * c.rows, rng));
  t.fill(kernel, "t");
  kernel.set("x", x);
  kernel.set("dy", dy);
  Doubles expected = plainSddmm(t, toFloats(x), toFloats(dy), c.tokens);
  for (const std::string &name : entries) {
    ASSERT_TRUE(kernel.run(name)) << c << ", " << name;
    EXPECT_LE(relativeError(kernel.get<float>("dw"), expected), 2e-6) << c << ", " << name;
  }
}

} // namespace

TEST(BF16, SpmmAndSddmm) {
  std::mt19937 rng(2);
  for (const Case &c : cases()) {
    Topology t = c.topology(rng);
    for (bool transpose : {false, true}) {
      Kernel kernel(spmmText(c, t, transpose), Target::CPU, 2);
      expectSpmm(kernel, {"main"}, c, t, transpose, rng);
    }
    Kernel kernel(sddmmText(c, t), Target::CPU, 2);
    expectSddmm(kernel, {"main"}, c, t, rng);
  }
}

TEST(BF16, EveryChoiceComputesTheSame) {
  std::mt19937 rng(3);
  for (const Case &c :
       {Case{64, 96, 16, 16, 256, 0.3}, Case{290, 64, 1, 16, 300, 0.2}, Case{140, 270, 1, 1, 320, 0.6}}) {
    Topology t = c.topology(rng);
    for (bool transpose : {false, true}) {
      EveryChoice every([&](const std::string &choice) { return spmmText(c, t, transpose, choice); });
      expectSpmm(*every.kernel, every.entries, c, t, transpose, rng);
    }
    EveryChoice every([&](const std::string &choice) { return sddmmText(c, t, choice); });
    expectSddmm(*every.kernel, every.entries, c, t, rng);
  }
}

namespace {

/// An array of an op under test.
struct Array {
  std::string name;
  std::vector<int64_t> shape;
  bool isStoredInBF16 = true;
  Floats values = {}; ///< of an input

  std::string type(bool inF32) const { return tensorType(shape, isStoredInBF16 && !inF32 ? "bf16" : "f32"); }
};

struct Ids {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<int32_t> values;
};

/// The op on arrays in bf16 gives what it gives on the same values in f32 (tested against plain loops elsewhere),
/// rounded once: nowhere is a sum rounded on the way.
void expectRoundedOnce(const std::string &op, const std::vector<Array> &inputs, const std::vector<Array> &outputs,
                       const std::string &attributes = "", const std::vector<Ids> &ids = {},
                       Target target = Target::CPU) {
  auto run = [&](bool inF32) {
    std::vector<Operand> ins, outs;
    for (const Array &array : inputs)
      ins.push_back({array.name, array.type(inF32)});
    // After x and w, as in nn.linear_cross_entropy.
    for (const Ids &array : ids)
      ins.insert(ins.begin() + 2 + (&array - ids.data()), {array.name, tensorType(array.shape, "i32")});
    for (const Array &array : outputs)
      outs.push_back({array.name, array.type(inF32), "output"});
    auto kernel = std::make_unique<Kernel>(entry(op, ins, outs, attributes), target, 2);
    for (const Array &array : inputs) {
      Halves halves = toBF16(array.values);
      if (!array.isStoredInBF16)
        kernel->set(array.name, array.values);
      else if (inF32)
        kernel->set(array.name, toFloats(halves));
      else
        kernel->set(array.name, halves);
    }
    for (const Ids &array : ids)
      kernel->set(array.name, array.values);
    EXPECT_TRUE(kernel->run()) << op;
    return kernel;
  };
  auto whole = run(true), half = run(false);
  for (const Array &array : outputs) {
    Floats expected = whole->get<float>(array.name);
    if (!array.isStoredInBF16) {
      EXPECT_LE(relativeError(half->get<float>(array.name), expected), 1e-6) << op << " " << array.name;
      continue;
    }
    Halves found = half->get<uint16_t>(array.name), rounded = toBF16(expected);
    size_t different = 0;
    for (size_t i = 0; i < found.size(); ++i)
      different += found[i] != rounded[i];
    // Sums in another order may fall on the other side of a middle.
    EXPECT_LE(double(different), 2e-3 * double(found.size())) << op << " " << array.name;
  }
}

} // namespace

TEST(BF16, DenseLinear) {
  std::mt19937 rng(4);
  // Several chunks of the sum and several panels, groups of tiles and a single one.
  for (int64_t T : {1, 300, 1100}) {
    const int64_t N = 270, K = 300;
    Array x{"x", {T, K}, true, randomVector<float>(T * K, rng)},
        dy{"dy", {T, N}, true, randomVector<float>(T * N, rng)};
    Array w{"w", {N, K}, false, randomVector<float>(N * K, rng)};
    expectRoundedOnce("nn.linear", {x, w}, {{"y", {T, N}}});
    expectRoundedOnce("nn.linear_grad_input", {dy, w}, {{"dx", {T, K}}});
    expectRoundedOnce("nn.linear_grad_weight", {x, dy}, {{"dw", {N, K}, false}});
  }
}

TEST(BF16, Attention) {
  std::mt19937 rng(5);
  const int64_t T = 512, F = 64, G = 32;
  const std::string attributes = "{num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 256 : i64}";
  auto random = [&](const char *name, int64_t features) {
    return Array{name, {T, features}, true, randomVector<float>(T * features, rng, 2)};
  };
  Array q = random("q", F), k = random("k", G), v = random("v", G), o = random("o", F), dy = random("dy", F);
  Array lse{"lse", {4, T}, false, randomVector<float>(4 * T, rng)};
  for (float &value : lse.values)
    value += 8; // so that the probabilities are small
  for (Target target : {Target::CPU, Target::GPU, Target::GPUChecked}) {
    expectRoundedOnce("nn.attention", {q, k, v}, {{"o", {T, F}}, {"lse", {4, T}, false}}, attributes, {}, target);
    expectRoundedOnce("nn.attention_grad", {q, k, v, o, lse, dy}, {{"dq", {T, F}}, {"dk", {T, G}}, {"dv", {T, G}}},
                      attributes, {}, target);
  }
}

TEST(BF16, Loss) {
  std::mt19937 rng(6);
  const int64_t T = 640, F = 140, V = 1100;
  Array x{"x", {T, F}, true, randomVector<float>(T * F, rng)}, w{"w", {V, F}, false, randomVector<float>(V * F, rng)};
  Array dloss{"dloss", {}, false, {1.5f}}, loss{"loss", {}, false}, dx{"dx", {T, F}}, dw{"dw", {V, F}, false};
  std::vector<int32_t> targets(T);
  for (int32_t &target : targets)
    target = int32_t(rng() % V);
  std::vector<Ids> ids{{"targets", {T}, targets}, {"num_valid", {}, {int32_t(T)}}};
  expectRoundedOnce("nn.linear_cross_entropy", {x, w}, {loss, {"lse", {T}, false}}, "", ids);
  expectRoundedOnce("nn.linear_cross_entropy_with_grad", {x, w, dloss}, {loss, dx, dw}, "", ids);
}

// A weight of 1 moves by 1/80 of the distance to its neighbour in every step: rounded to nearest it would never move.
TEST(BF16, SmallUpdatesDoNotVanish) {
  std::mt19937 rng(3);
  for (auto [blockRows, blockCols] : {std::pair(1, 1), {16, 16}}) {
    Topology t = Topology::random(128, 128, blockRows, blockCols, 0.5, rng);
    auto size = size_t(t.nnz() * blockRows * blockCols);
    std::string shape = tensorType({t.nnz(), blockRows, blockCols});
    Kernel kernel(entry("smet.adam_step",
                        {{"t", t.type()}, {"g", shape}, {"lr", "tensor<f32>"}, {"step", "tensor<i64>"}},
                        {{"w", tensorType({t.nnz(), blockRows, blockCols}, "bf16")},
                         {"m", shape},
                         {"v", shape},
                         {"age", tensorType({t.nnz()}, "i16")}},
                        "{adamw = #smet.adamw<lr_scaling = false>}"),
                  Target::CPU, 2);
    float lr = 1.0f / 256 / 2 / 40; // below 1 the neighbours are 1/256 apart
    t.fill(kernel, "t");
    kernel.set("w", Halves(size, BF16(1.0f).bits));
    kernel.set("g", Floats(size, 1.0f)); // a constant gradient: every update is lr
    kernel.set("lr", Floats{lr});
    constexpr int steps = 200;
    for (int64_t step = 1; step <= steps; ++step) {
      kernel.set("step", std::vector<int64_t>{step});
      ASSERT_TRUE(kernel.run());
    }
    double sum = 0, squares = 0;
    for (float w : toFloats(kernel.get<uint16_t>("w"))) {
      sum += 1 - w;
      squares += (1 - w) * (1 - w);
    }
    double mean = sum / double(size), deviation = std::sqrt(squares / double(size) - mean * mean);
    EXPECT_NEAR(mean, steps * lr, 4 * deviation / std::sqrt(double(size)));
    // Elements and steps are rounded independently: a step is one to the neighbour with probability p.
    double p = lr * 256;
    EXPECT_NEAR(deviation, std::sqrt(steps * p * (1 - p)) / 256, 0.05 * deviation);
  }
}
