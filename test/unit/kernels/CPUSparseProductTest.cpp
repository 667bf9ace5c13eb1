//===- CPUSparseProductTest.cpp - SpMM and SDDMM on the CPU ---------------===//
#include "CPUSparse.h"

using namespace smet;
using namespace smet::test;

namespace {

class CPUSparseProduct : public testing::TestWithParam<Case> {};

std::string spmmText(const Case &c, const Topology &t, bool transpose, const std::string &attributes) {
  int64_t in = transpose ? c.rows : c.cols, out = transpose ? c.cols : c.rows;
  return entry(
      "smet.spmm",
      {{"t", t.type()}, {"w", tensorType({t.nnz(), c.blockRows, c.blockCols})}, {"x", c.activation(in), "state"}},
      {{"y", c.activation(out), "state"}},
      "{" + std::string(transpose ? "transpose" : "") + (transpose && !attributes.empty() ? ", " : "") + attributes +
          "}");
}

std::string sddmmText(const Case &c, const Topology &t, const std::string &attributes) {
  return entry("smet.sddmm",
               {{"t", t.type()}, {"x", c.activation(c.cols), "state"}, {"dy", c.activation(c.rows), "state"}},
               {{"dw", tensorType({t.nnz(), c.blockRows, c.blockCols})}}, "{" + attributes + "}");
}

Floats runSpmm(const Case &c, const Topology &t, const Floats &values, const Floats &x, const Floats &y, bool transpose,
               bool accumulate, int threads, const std::string &cpu = "") {
  int64_t in = transpose ? c.rows : c.cols, out = transpose ? c.cols : c.rows;
  Kernel kernel(spmmText(c, t, transpose, accumulate ? "accumulate" : ""), Target::CPU, threads, cpu);
  t.fill(kernel, "t");
  kernel.set("w", values);
  kernel.set("x", pack(x, c.tokens, in));
  kernel.set("y", pack(y, c.tokens, out));
  kernel.run();
  return unpack(kernel.get<float>("y"), c.tokens, out);
}

TEST_P(CPUSparseProduct, Spmm) {
  const Case &c = GetParam();
  std::mt19937 rng(1);
  Topology t = c.topology(rng);
  auto values = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
  for (bool transpose : {false, true}) {
    auto x = randomVector<float>(c.tokens * (transpose ? c.rows : c.cols), rng);
    auto y = randomVector<float>(c.tokens * (transpose ? c.cols : c.rows), rng);
    Floats once = runSpmm(c, t, values, x, y, transpose, /*accumulate=*/false, 1);
    EXPECT_LE(relativeError(once, plainSpmm(t, values, x, Doubles(y.size()), c.tokens, transpose)), 2e-6);
    Floats added = runSpmm(c, t, values, x, y, transpose, /*accumulate=*/true, 2);
    EXPECT_LE(relativeError(added, plainSpmm(t, values, x, Doubles(y.begin(), y.end()), c.tokens, transpose)), 2e-6);
  }
}

Floats runSddmm(const Case &c, const Topology &t, const Floats &x, const Floats &dy, const Floats &dvalues,
                bool accumulate, int threads, const std::string &cpu = "") {
  Kernel kernel(sddmmText(c, t, accumulate ? "accumulate" : ""), Target::CPU, threads, cpu);
  t.fill(kernel, "t");
  kernel.set("x", pack(x, c.tokens, c.cols));
  kernel.set("dy", pack(dy, c.tokens, c.rows));
  kernel.set("dw", dvalues);
  kernel.run();
  return kernel.get<float>("dw");
}

TEST_P(CPUSparseProduct, Sddmm) {
  const Case &c = GetParam();
  std::mt19937 rng(2);
  Topology t = c.topology(rng);
  auto x = randomVector<float>(c.tokens * c.cols, rng), dy = randomVector<float>(c.tokens * c.rows, rng);
  auto old = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
  Doubles expected = plainSddmm(t, x, dy, c.tokens);
  Floats once = runSddmm(c, t, x, dy, old, /*accumulate=*/false, 1);
  EXPECT_LE(relativeError(once, expected), 2e-6);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] += old[i];
  EXPECT_LE(relativeError(runSddmm(c, t, x, dy, old, /*accumulate=*/true, 2), expected), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Blocks, CPUSparseProduct, testing::ValuesIn(cases()));

TEST(CPUSparse, BitsDoNotDependOnThreads) {
  for (const Case &c : {Case{64, 96, 16, 16, 256, 0.3}, Case{290, 64, 1, 16, 400, 0.3}, Case{140, 270, 1, 1, 600, 0.2},
                        Case{200, 270, 1, 1, 600, 0.6}}) {
    std::mt19937 rng(3);
    Topology t = c.topology(rng);
    auto values = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
    auto x = randomVector<float>(c.tokens * c.cols, rng), dy = randomVector<float>(c.tokens * c.rows, rng);
    Floats y = runSpmm(c, t, values, x, dy, false, false, 1), dx = runSpmm(c, t, values, dy, x, true, false, 1),
           dw = runSddmm(c, t, x, dy, values, false, 1);
    for (int threads : {2, 8}) {
      EXPECT_EQ(runSpmm(c, t, values, x, dy, false, false, threads), y) << c;
      EXPECT_EQ(runSpmm(c, t, values, dy, x, true, false, threads), dx) << c;
      EXPECT_EQ(runSddmm(c, t, x, dy, values, false, threads), dw) << c;
    }
  }
}

TEST(CPUSparse, EveryChoiceComputesTheSame) {
  for (const Case &c : {Case{64, 96, 16, 16, 256, 0.3}, Case{290, 64, 1, 16, 300, 0.2}, Case{290, 270, 1, 1, 300, 0.1},
                        Case{140, 270, 1, 1, 320, 0.6}, Case{27, 55, 3, 5, 128, 0.4}}) {
    std::mt19937 rng(5);
    Topology t = c.topology(rng);
    auto values = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
    auto x = randomVector<float>(c.tokens * c.cols, rng), dy = randomVector<float>(c.tokens * c.rows, rng);
    for (bool transpose : {false, true}) {
      EveryChoice every([&](const std::string &choice) { return spmmText(c, t, transpose, choice); });
      const Floats &in = transpose ? dy : x, &out = transpose ? x : dy;
      int64_t outputs = transpose ? c.cols : c.rows;
      Doubles expected = plainSpmm(t, values, in, Doubles(out.size()), c.tokens, transpose);
      t.fill(*every.kernel, "t");
      every.kernel->set("w", values);
      every.kernel->set("x", pack(in, c.tokens, transpose ? c.rows : c.cols));
      for (const std::string &entry : every.entries) {
        every.kernel->set("y", pack(out, c.tokens, outputs));
        every.kernel->run(entry);
        Floats y = unpack(every.kernel->get<float>("y"), c.tokens, outputs);
        EXPECT_LE(relativeError(y, expected), 2e-6) << c << ", choice " << entry;
      }
    }
    EveryChoice every([&](const std::string &choice) { return sddmmText(c, t, choice); });
    Doubles expected = plainSddmm(t, x, dy, c.tokens);
    t.fill(*every.kernel, "t");
    every.kernel->set("x", pack(x, c.tokens, c.cols));
    every.kernel->set("dy", pack(dy, c.tokens, c.rows));
    for (const std::string &entry : every.entries) {
      every.kernel->set("dw", values);
      every.kernel->run(entry);
      EXPECT_LE(relativeError(every.kernel->get<float>("dw"), expected), 2e-6) << c << ", choice " << entry;
    }
  }
}

// Machines with 16 registers of 256 or 128 bits take other register tiles.
TEST(CPUSparse, NarrowerVectors) {
  for (const char *cpu : {"x86-64-v3", "x86-64"})
    for (const Case &c : {Case{64, 96, 16, 16, 256, 0.3}, Case{36, 64, 1, 16, 100, 0.3}, Case{40, 56, 1, 1, 600, 0.2},
                          Case{27, 55, 3, 5, 5, 0.4}, Case{64, 36, 16, 1, 100, 0.3}, Case{290, 64, 1, 16, 300, 0.2},
                          Case{140, 270, 1, 1, 300, 0.2}, Case{140, 270, 1, 1, 300, 0.6}}) {
      std::mt19937 rng(4);
      Topology t = c.topology(rng);
      auto values = randomVector<float>(t.nnz() * c.blockRows * c.blockCols, rng);
      auto x = randomVector<float>(c.tokens * c.cols, rng), dy = randomVector<float>(c.tokens * c.rows, rng);
      EXPECT_LE(relativeError(runSpmm(c, t, values, x, dy, false, false, 1, cpu),
                              plainSpmm(t, values, x, Doubles(dy.size()), c.tokens, false)),
                2e-6)
          << c << " " << cpu;
      EXPECT_LE(relativeError(runSddmm(c, t, x, dy, values, false, 1, cpu), plainSddmm(t, x, dy, c.tokens)), 2e-6)
          << c << " " << cpu;
    }
}

} // namespace
