//===- CPUSparseAdamTest.cpp - optimizer steps on CPU and emulated GPU ----===//
//
// Against the formula of smet.adam_step in double, with pow(), and against what follows from it for the updates after
// regrowth.
//
//===----------------------------------------------------------------------===//
#include "CPUSparse.h"
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;

namespace {

using Adam = plain::AdamW;

struct State {
  Floats w, m, v;
  std::vector<uint16_t> age;
};

struct Plain {
  Doubles w, m, v;

  explicit Plain(const State &s) : w(s.w.begin(), s.w.end()), m(s.m.begin(), s.m.end()), v(s.v.begin(), s.v.end()) {}
  void update(size_t i, double g, double a, double rate, const Adam &p) { p.update(w[i], m[i], v[i], g, a, rate); }
};

std::vector<Operand> stateOperands(const Topology &t) {
  std::string values = tensorType({t.nnz(), t.blockRows, t.blockCols});
  return {{"w", values}, {"m", values}, {"v", values}, {"age", tensorType({t.nnz()}, "i16")}};
}

void setState(Kernel &kernel, const Topology &t, const State &s, float lr, int64_t step) {
  t.fill(kernel, "t");
  kernel.set("w", s.w);
  kernel.set("m", s.m);
  kernel.set("v", s.v);
  kernel.set("age", s.age);
  kernel.set("lr", Floats{lr});
  kernel.set("step", std::vector<int64_t>{step});
}

State getState(Kernel &kernel) {
  return {kernel.get<float>("w"), kernel.get<float>("m"), kernel.get<float>("v"), kernel.get<uint16_t>("age")};
}

class CPUSparseAdam : public testing::TestWithParam<Target> {};

Kernel adamKernel(const Topology &t, const Adam &p, Target target, int threads = 1) {
  return Kernel(entry("smet.adam_step",
                      {{"t", t.type()},
                       {"g", tensorType({t.nnz(), t.blockRows, t.blockCols})},
                       {"lr", "tensor<f32>"},
                       {"step", "tensor<i64>"}},
                      stateOperands(t), p.attribute()),
                target, threads);
}

/// Ages on both sides of every rule: new, warming up, as old as the run, saturated.
State randomState(const Topology &t, int64_t step, std::mt19937 &rng) {
  size_t size = t.nnz() * t.blockRows * t.blockCols;
  State s{randomVector<float>(size, rng), randomVector<float>(size, rng, 0.1), randomVector<float>(size, rng, 0.1), {}};
  for (float &v : s.v)
    v = v * v;
  int64_t ages[] = {0, 1, 4, 9, 10, step - 1, step - 1, 300, 65534, 65535};
  for (int64_t slot = 0; slot < t.nnz(); ++slot)
    // A run of equal ages long enough for a whole vector, then a mixture.
    s.age.push_back(std::min<int64_t>(slot < 40 ? step - 1 : ages[rng() % std::size(ages)], 65535));
  return s;
}

TEST_P(CPUSparseAdam, FollowsTheFormula) {
  Adam plain, decaying{0.8, 0.99, 1e-3, 0.1, 1, false}, noWarmup{0.9, 0.999, 1e-8, 0, 0, true};
  std::mt19937 rng(7);
  for (const Case &c : {Case{40, 56, 1, 1, 1, 0.2}, Case{64, 48, 16, 16, 1, 0.5}, Case{27, 55, 3, 5, 1, 0.4},
                        Case{64, 64, 1, 16, 1, 0.3}})
    for (const Adam &p : {plain, decaying, noWarmup}) {
      Topology t = c.topology(rng);
      Kernel kernel = adamKernel(t, p, GetParam(), 2);
      for (int64_t step : {1, 2, 500, 70000}) {
        State before = randomState(t, step, rng);
        auto grad = randomVector<float>(before.w.size(), rng);
        setState(kernel, t, before, 0.01f, step);
        kernel.set("g", grad);
        kernel.run();
        State after = getState(kernel);

        Plain expected(before);
        int64_t size = c.blockRows * c.blockCols;
        double density = double(t.nnz()) * size / (c.rows * c.cols);
        for (int64_t i = 0; i < t.nnz() * size; ++i) {
          int64_t age = std::min<int64_t>(before.age[i / size] + 1, 65535);
          EXPECT_EQ(after.age[i / size], age);
          expected.update(i, grad[i], age, p.rate(0.01f, density, age, step), p);
        }
        EXPECT_LE(relativeError(after.w, expected.w), 1e-6) << c << " step " << step;
        EXPECT_LE(relativeError(after.m, expected.m), 1e-6) << c << " step " << step;
        EXPECT_LE(relativeError(after.v, expected.v), 1e-6) << c << " step " << step;
      }
    }
}

/// |update| / lr at steps `first`, first + 1, ... of a weight with zero moments under a constant gradient.
Doubles updates(Kernel &kernel, const std::string &w, int64_t first, int64_t count) {
  Doubles result;
  for (int64_t k = 0; k < count; ++k) {
    kernel.set("step", std::vector<int64_t>{first + k});
    float before = kernel.get<float>(w)[0];
    kernel.run();
    result.push_back(std::abs(kernel.get<float>(w)[0] - before) / 1e-3);
  }
  return result;
}

TEST_P(CPUSparseAdam, UpdatesAfterRegrowth) {
  Topology t{1, 16, 1, 1, {0, 1}, {3}, {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {0}, {0}};
  for (int64_t warmup : {0, 1, 10}) {
    Adam p;
    p.eps = 1e-20;
    p.updates = warmup;
    p.scaling = false;
    Kernel kernel = adamKernel(t, p, GetParam());
    setState(kernel, t, {{0}, {0}, {0}, {0}}, 1e-3f, 1);
    kernel.set("g", Floats{0.02f});
    Doubles rate = updates(kernel, "w", 5001, 100);
    for (int64_t k = 1; k <= 100; ++k)
      EXPECT_NEAR(rate[k - 1], warmup == 10 ? std::min(k / 10.0, 1.0) : 1.0, 2e-3) << k << " of warm-up " << warmup;
  }
}

TEST_P(CPUSparseAdam, UpdatesAfterRegrowthWithTheGlobalStep) {
  Adam p;
  p.eps = 1e-20;
  Kernel kernel(entry("smet.dense_adam_step", {{"g", tensorType({1})}, {"lr", "tensor<f32>"}, {"step", "tensor<i64>"}},
                      {{"w", tensorType({1})}, {"m", tensorType({1})}, {"v", tensorType({1})}}, p.attribute()),
                GetParam());
  for (const char *name : {"w", "m", "v"})
    kernel.set(name, Floats{0});
  kernel.set("g", Floats{0.02f});
  kernel.set("lr", Floats{1e-3f});
  Doubles rate = updates(kernel, "w", 5001, 100);
  Doubles published = {3.1516, 4.2353, 4.9336, 5.4234, 5.7777};
  for (size_t k = 0; k < published.size(); ++k)
    EXPECT_NEAR(rate[k], published[k], 2e-3);
  EXPECT_NEAR(*std::max_element(rate.begin(), rate.end()), 6.5467, 4e-3);
  EXPECT_NEAR(rate[11], 6.5467, 4e-3);
  EXPECT_NEAR(rate[99], 3.2309, 1e-2);
}

TEST_P(CPUSparseAdam, DenseFollowsTheFormula) {
  Adam p{0.9, 0.99, 1e-8, 0.1, 10, true};
  std::mt19937 rng(8);
  std::string type = tensorType({131, 157}); // more than an item of work, and a rest
  Kernel kernel(entry("smet.dense_adam_step", {{"g", type}, {"lr", "tensor<f32>"}, {"step", "tensor<i64>"}},
                      {{"w", type}, {"m", type}, {"v", type}}, p.attribute()),
                GetParam(), 2);
  size_t size = 131 * 157;
  for (int64_t step : {int64_t(1), int64_t(100), int64_t(1) << 33}) {
    State s{randomVector<float>(size, rng), randomVector<float>(size, rng), randomVector<float>(size, rng), {}};
    for (float &v : s.v)
      v = v * v;
    auto grad = randomVector<float>(size, rng);
    kernel.set("w", s.w);
    kernel.set("m", s.m);
    kernel.set("v", s.v);
    kernel.set("g", grad);
    kernel.set("lr", Floats{0.01f});
    kernel.set("step", std::vector<int64_t>{step});
    kernel.run();
    Plain expected(s);
    for (size_t i = 0; i < size; ++i)
      expected.update(i, grad[i], step, 0.01f, p);
    EXPECT_LE(relativeError(kernel.get<float>("w"), expected.w), 1e-6);
    EXPECT_LE(relativeError(kernel.get<float>("m"), expected.m), 1e-6);
    EXPECT_LE(relativeError(kernel.get<float>("v"), expected.v), 1e-6);
  }
}

// The fused op is the two ops, bit by bit.
TEST_P(CPUSparseAdam, FusedIsSddmmThenStep) {
  std::mt19937 rng(9);
  Adam p{0.9, 0.999, 1e-8, 0.1, 10, true};
  for (const Case &c : {Case{40, 56, 1, 1, 600, 0.2}, Case{64, 96, 16, 16, 256, 0.3}, Case{36, 64, 1, 16, 100, 0.3},
                        Case{27, 55, 3, 5, 128, 0.4}, Case{64, 36, 16, 1, 64, 0.3}, Case{200, 270, 1, 1, 1100, 0.6}}) {
    Topology t = c.topology(rng);
    State before = randomState(t, 50, rng);
    Floats x = pack(randomVector<float>(c.tokens * c.cols, rng), c.tokens, c.cols);
    Floats dy = pack(randomVector<float>(c.tokens * c.rows, rng), c.tokens, c.rows);
    std::vector<Operand> product = {
        {"t", t.type()}, {"x", c.activation(c.cols), "state"}, {"dy", c.activation(c.rows), "state"}};

    Kernel sddmm(entry("smet.sddmm", product, {{"g", tensorType({t.nnz(), c.blockRows, c.blockCols})}}), GetParam());
    t.fill(sddmm, "t");
    sddmm.set("x", x);
    sddmm.set("dy", dy);
    sddmm.run();
    Kernel step = adamKernel(t, p, GetParam());
    setState(step, t, before, 0.01f, 50);
    step.set("g", sddmm.get<float>("g"));
    step.run();

    product.insert(product.end(), {{"lr", "tensor<f32>"}, {"step", "tensor<i64>"}});
    Kernel fused(entry("smet.sddmm_adam", product, stateOperands(t), p.attribute()), GetParam(), 3);
    setState(fused, t, before, 0.01f, 50);
    fused.set("x", x);
    fused.set("dy", dy);
    fused.run();

    State expected = getState(step), got = getState(fused);
    EXPECT_EQ(got.w, expected.w) << c;
    EXPECT_EQ(got.m, expected.m) << c;
    EXPECT_EQ(got.v, expected.v) << c;
    EXPECT_EQ(got.age, expected.age) << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CPUSparseAdam, testing::Values(Target::CPU, Target::GPU, Target::GPUChecked), nameOf);

} // namespace
