//===- ReferenceSparseTest.cpp - smet ops through sparse_tensor -----------===//
//
// Against plain loops on the N x K matrix in double, for every block shape, in f32 and f64.
//
//===----------------------------------------------------------------------===//
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;
using plain::AdamW;
using plain::Array;

namespace {

template <typename T> struct Element;
template <> struct Element<float> {
  static constexpr const char *name = "f32";
  static constexpr double tolerance = 2e-6;
};
template <> struct Element<double> {
  static constexpr const char *name = "f64";
  static constexpr double tolerance = 1e-14;
};

template <typename T> std::string typeOf(const std::vector<int64_t> &shape) {
  return tensorType(shape, Element<T>::name);
}
template <typename T> Array toDouble(const std::vector<T> &values) { return {values.begin(), values.end()}; }

/// A topology with an empty and a full row of blocks, and the types of what belongs to it.
template <typename T> struct Layer {
  Topology topology;
  int64_t tokens;
  Operand t{"t", topology.type()};
  std::string values = typeOf<T>({topology.nnz(), topology.blockRows, topology.blockCols});
  Operand x{"x", typeOf<T>({tokens, topology.cols})}, dy{"dy", typeOf<T>({tokens, topology.rows})};

  size_t numWeights() const { return topology.nnz() * topology.blockRows * topology.blockCols; }
  double density() const { return double(numWeights()) / (topology.rows * topology.cols); }
  /// x W^T of plain arrays; with `transpose` x W.
  Array product(const std::vector<T> &w, const std::vector<T> &x, bool transpose) const {
    int64_t N = topology.rows, K = topology.cols;
    Array dense = plain::toDense(topology, w);
    return transpose ? plain::linear(toDouble(x), plain::transpose(dense, N, K), K, N)
                     : plain::linear(toDouble(x), dense, N, K);
  }
  /// dy^T x at the active blocks.
  Array sampled(const std::vector<T> &x, const std::vector<T> &dy) const {
    int64_t N = topology.rows, K = topology.cols;
    Array xt = plain::transpose(toDouble(x), tokens, K), dyt = plain::transpose(toDouble(dy), tokens, N);
    return plain::fromDense(topology, plain::linear(dyt, xt, K, tokens));
  }
};

template <typename T> struct ReferenceSparse : testing::Test {
  std::mt19937 rng{3};

  std::vector<T> random(size_t n) { return randomVector<T>(n, rng); }

  Layer<T> layer(int64_t rowBlocks, int64_t colBlocks, int64_t R, int64_t C, int64_t tokens, double density = 0.4) {
    return {Topology::random(rowBlocks * R, colBlocks * C, R, C, density, rng, /*emptyRow=*/1, /*fullRow=*/0), tokens};
  }
  std::vector<Layer<T>> layers() {
    return {layer(3, 5, 16, 16, 7), layer(5, 3, 8, 8, 12),   layer(7, 9, 4, 2, 1), layer(19, 3, 1, 16, 5),
            layer(23, 17, 1, 1, 9), layer(3, 29, 16, 1, 11), layer(5, 4, 3, 5, 13)};
  }
};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(ReferenceSparse, Elements);

TYPED_TEST(ReferenceSparse, Spmm) {
  for (const Layer<TypeParam> &l : this->layers())
    for (bool transpose : {false, true})
      for (bool accumulate : {false, true}) {
        Operand in = transpose ? l.dy : l.x, out = transpose ? l.x : l.dy;
        Kernel kernel(entry("smet.spmm", {l.t, {"w", l.values}, in}, {out},
                            transpose ? (accumulate ? "{transpose, accumulate}" : "{transpose}")
                                      : (accumulate ? "{accumulate}" : "")),
                      Target::Reference);
        int64_t inputs = transpose ? l.topology.rows : l.topology.cols;
        auto w = this->random(l.numWeights()), x = this->random(l.tokens * inputs);
        auto old = this->random(l.tokens * (l.topology.rows + l.topology.cols - inputs));
        l.topology.fill(kernel, "t");
        kernel.set("w", w);
        kernel.set(in.name, x);
        kernel.set(out.name, old);
        ASSERT_TRUE(kernel.run());
        Array expected = l.product(w, x, transpose);
        for (size_t i = 0; accumulate && i < expected.size(); ++i)
          expected[i] += old[i];
        EXPECT_LT(relativeError(kernel.get<TypeParam>(out.name), expected), Element<TypeParam>::tolerance)
            << l.topology.type() << (transpose ? " transpose" : "") << (accumulate ? " accumulate" : "");
      }
}

TYPED_TEST(ReferenceSparse, Sddmm) {
  for (const Layer<TypeParam> &l : this->layers())
    for (bool accumulate : {false, true}) {
      Kernel kernel(entry("smet.sddmm", {l.t, l.x, l.dy}, {{"dw", l.values}}, accumulate ? "{accumulate}" : ""),
                    Target::Reference);
      auto x = this->random(l.tokens * l.topology.cols), dy = this->random(l.tokens * l.topology.rows);
      auto old = this->random(l.numWeights());
      l.topology.fill(kernel, "t");
      kernel.set("x", x);
      kernel.set("dy", dy);
      kernel.set("dw", old);
      ASSERT_TRUE(kernel.run());
      Array expected = l.sampled(x, dy);
      for (size_t i = 0; accumulate && i < expected.size(); ++i)
        expected[i] += old[i];
      EXPECT_LT(relativeError(kernel.get<TypeParam>("dw"), expected), Element<TypeParam>::tolerance)
          << l.topology.type() << (accumulate ? " accumulate" : "");
    }
}

// Column blocks beyond 32,767 (i16 is unsigned) and beyond 65,535 (i32).
TYPED_TEST(ReferenceSparse, WideCoordinates) {
  using T = TypeParam;
  for (int64_t cols : {50000, 70000}) {
    Layer<T> l{Topology::random(3, cols, 1, 1, 0.01, this->rng), 2};
    auto w = this->random(l.numWeights()), x = this->random(2 * cols), dy = this->random(2 * 3);
    Kernel spmm(entry("smet.spmm", {l.t, {"w", l.values}, l.x}, {l.dy}), Target::Reference);
    l.topology.fill(spmm, "t");
    spmm.set("w", w);
    spmm.set("x", x);
    ASSERT_TRUE(spmm.run());
    EXPECT_LT(relativeError(spmm.template get<T>("dy"), l.product(w, x, false)), Element<T>::tolerance) << cols;

    Kernel sddmm(entry("smet.sddmm", {l.t, l.x, l.dy}, {{"dw", l.values}}), Target::Reference);
    l.topology.fill(sddmm, "t");
    sddmm.set("x", x);
    sddmm.set("dy", dy);
    ASSERT_TRUE(sddmm.run());
    EXPECT_LT(relativeError(sddmm.template get<T>("dw"), l.sampled(x, dy)), Element<T>::tolerance) << cols;
  }
}

/// The state of an optimizer step, in a kernel and in double.
template <typename T> struct State {
  std::vector<T> w, m, v;
  std::vector<uint16_t> age;

  static std::vector<Operand> operands(const std::string &values, int64_t nnz) {
    return {{"w", values}, {"m", values}, {"v", values}, {"age", tensorType({nnz}, "i16")}};
  }
  static State random(size_t size, std::mt19937 &rng) {
    State s{randomVector<T>(size, rng), randomVector<T>(size, rng, 0.1), randomVector<T>(size, rng, 0.1), {}};
    for (T &v : s.v)
      v *= v;
    return s;
  }
  void fill(Kernel &kernel, T lr, int64_t step) const {
    kernel.set("w", w);
    kernel.set("m", m);
    kernel.set("v", v);
    if (!age.empty())
      kernel.set("age", age);
    kernel.set("lr", std::vector<T>{lr});
    kernel.set("step", std::vector<int64_t>{step});
  }
  /// Expects the arrays of the kernel to be these, `blockSize` weights to an age.
  void expectUpdated(Kernel &kernel, const AdamW &rule, const Array &grad, double lr, double density, int64_t step,
                     size_t blockSize) const {
    Array w = toDouble(this->w), m = toDouble(this->m), v = toDouble(this->v);
    std::vector<uint16_t> ages;
    for (size_t i = 0; i < w.size(); ++i) {
      int64_t a = age.empty() ? step : std::min(age[i / blockSize] + 1, 65535);
      rule.update(w[i], m[i], v[i], grad[i], a, age.empty() ? lr : rule.rate(lr, density, a, step));
      if (!age.empty() && i % blockSize == 0)
        ages.push_back(a);
    }
    double tolerance = Element<T>::tolerance;
    EXPECT_LT(relativeError(kernel.get<T>("w"), w), tolerance) << rule.attribute() << " step " << step;
    EXPECT_LT(relativeError(kernel.get<T>("m"), m), tolerance) << rule.attribute() << " step " << step;
    EXPECT_LT(relativeError(kernel.get<T>("v"), v), tolerance) << rule.attribute() << " step " << step;
    if (!age.empty()) {
      EXPECT_EQ(kernel.get<uint16_t>("age"), ages) << " step " << step;
    }
  }
};

/// Ages on both sides of every rule: new, warming up, as old as the run, saturated.
std::vector<uint16_t> mixedAges(int64_t nnz, int64_t step) {
  int64_t ages[] = {0, 1, 4, 8, 9, 10, step - 1, 300, 32767, 40000, 65534, 65535};
  std::vector<uint16_t> result;
  for (int64_t slot = 0; slot < nnz; ++slot)
    result.push_back(std::min<int64_t>(ages[slot % std::size(ages)], 65535));
  return result;
}

const AdamW rules[] = {{}, {0.8, 0.99, 1e-3, 0.1, 1, false}, {0.9, 0.95, 1e-8, 0.01, 0, true}};

TYPED_TEST(ReferenceSparse, AdamStep) {
  using T = TypeParam;
  Layer<T> layers[] = {this->layer(23, 17, 1, 1, 1), this->layer(5, 6, 3, 5, 1)};
  for (const Layer<T> &l : layers)
    for (const AdamW &rule : rules) {
      Kernel kernel(entry("smet.adam_step",
                          {l.t, {"g", l.values}, {"lr", typeOf<T>({})}, {"step", tensorType({}, "i64")}},
                          State<T>::operands(l.values, l.topology.nnz()), rule.attribute()),
                    Target::Reference);
      l.topology.fill(kernel, "t");
      for (int64_t step : {int64_t(1), int64_t(5), int64_t(500), int64_t(65536), int64_t(1) << 33}) {
        auto state = State<T>::random(l.numWeights(), this->rng);
        state.age = mixedAges(l.topology.nnz(), step);
        auto grad = this->random(l.numWeights());
        state.fill(kernel, T(0.01), step);
        kernel.set("g", grad);
        ASSERT_TRUE(kernel.run());
        state.expectUpdated(kernel, rule, toDouble(grad), T(0.01), l.density(), step,
                            l.numWeights() / l.topology.nnz());
      }
    }
}

TYPED_TEST(ReferenceSparse, SddmmAdam) {
  using T = TypeParam;
  for (const Layer<T> &l : this->layers()) {
    Kernel kernel(entry("smet.sddmm_adam", {l.t, l.x, l.dy, {"lr", typeOf<T>({})}, {"step", tensorType({}, "i64")}},
                        State<T>::operands(l.values, l.topology.nnz()), rules[0].attribute()),
                  Target::Reference);
    l.topology.fill(kernel, "t");
    auto state = State<T>::random(l.numWeights(), this->rng);
    state.age = mixedAges(l.topology.nnz(), 50);
    auto x = this->random(l.tokens * l.topology.cols), dy = this->random(l.tokens * l.topology.rows);
    state.fill(kernel, T(0.01), 50);
    kernel.set("x", x);
    kernel.set("dy", dy);
    ASSERT_TRUE(kernel.run());
    state.expectUpdated(kernel, rules[0], l.sampled(x, dy), T(0.01), l.density(), 50,
                        l.numWeights() / l.topology.nnz());
  }
}

TYPED_TEST(ReferenceSparse, DenseAdamStep) {
  using T = TypeParam;
  std::string type = typeOf<T>({13, 7});
  for (const AdamW &rule : rules) {
    Kernel kernel(entry("smet.dense_adam_step", {{"g", type}, {"lr", typeOf<T>({})}, {"step", tensorType({}, "i64")}},
                        {{"w", type}, {"m", type}, {"v", type}}, rule.attribute()),
                  Target::Reference);
    for (int64_t step : {int64_t(1), int64_t(500), int64_t(1) << 33}) {
      auto state = State<T>::random(13 * 7, this->rng);
      auto grad = this->random(13 * 7);
      state.fill(kernel, T(0.01), step);
      kernel.set("g", grad);
      ASSERT_TRUE(kernel.run());
      state.expectUpdated(kernel, rule, toDouble(grad), T(0.01), 1, step, 1);
    }
  }
}

// |update| / lr after regrowth at step 5,001 under a constant gradient g, eps -> 0: the age starts again, so mhat = g
// and vhat = g^2, and it is 1, times the warm-up min(k / 10, 1) in the k-th step.
TYPED_TEST(ReferenceSparse, UpdatesAfterRegrowth) {
  using T = TypeParam;
  Topology t = Topology::ofMask(1, 4, 1, 1, {false, true, false, false});
  std::string values = typeOf<T>({1, 1, 1});
  for (int64_t updates : {0, 1, 10}) {
    AdamW rule{0.9, 0.999, 1e-30, 0, updates, false};
    Kernel kernel(entry("smet.adam_step",
                        {{"t", t.type()}, {"g", values}, {"lr", typeOf<T>({})}, {"step", tensorType({}, "i64")}},
                        State<T>::operands(values, 1), rule.attribute()),
                  Target::Reference);
    t.fill(kernel, "t");
    kernel.set("g", std::vector<T>{T(0.02)});
    State<T>{{0}, {0}, {0}, {0}}.fill(kernel, T(1), 5001);
    for (int64_t k = 1; k <= 100; ++k) {
      kernel.set("step", std::vector<int64_t>{5000 + k});
      kernel.set("w", std::vector<T>{0});
      ASSERT_TRUE(kernel.run());
      EXPECT_NEAR(kernel.template get<T>("w")[0], updates == 10 ? -std::min(k / 10.0, 1.0) : -1.0, 1e-5)
          << k << " of warm-up " << updates;
    }
  }
}

TYPED_TEST(ReferenceSparse, UpdatesAfterRegrowthWithTheGlobalStep) {
  using T = TypeParam;
  std::string type = typeOf<T>({1});
  AdamW rule{0.9, 0.999, 1e-30};
  Kernel kernel(entry("smet.dense_adam_step", {{"g", type}, {"lr", typeOf<T>({})}, {"step", tensorType({}, "i64")}},
                      {{"w", type}, {"m", type}, {"v", type}}, rule.attribute()),
                Target::Reference);
  kernel.set("g", std::vector<T>{T(0.02)});
  State<T>{{0}, {0}, {0}, {}}.fill(kernel, T(1), 5001);
  Array updates;
  for (int64_t k = 1; k <= 100; ++k) {
    kernel.set("step", std::vector<int64_t>{5000 + k});
    kernel.set("w", std::vector<T>{0});
    ASSERT_TRUE(kernel.run());
    updates.push_back(-kernel.template get<T>("w")[0]);
  }
  double published[] = {3.1516, 4.2353, 4.9336, 5.4234, 5.7777};
  for (size_t k = 0; k < std::size(published); ++k)
    EXPECT_NEAR(updates[k], published[k], 1e-4);
  EXPECT_EQ(std::max_element(updates.begin(), updates.end()) - updates.begin(), 11);
  EXPECT_NEAR(updates[11], 6.5467, 1e-4);
  EXPECT_NEAR(updates[99], 3.2309, 1e-4);
}

TYPED_TEST(ReferenceSparse, Score) {
  using T = TypeParam;
  for (auto [rows, cols] : {std::pair{1, 1}, {3, 5}, {1, 16}}) {
    Kernel kernel(entry("smet.score", {{"w", typeOf<T>({13, rows, cols})}}, {{"s", typeOf<T>({13})}}),
                  Target::Reference);
    auto w = this->random(13 * rows * cols);
    kernel.set("w", w);
    ASSERT_TRUE(kernel.run());
    Array expected(13);
    for (size_t i = 0; i < w.size(); ++i)
      expected[i / (rows * cols)] += std::abs(w[i]);
    EXPECT_LT(relativeError(kernel.template get<T>("s"), expected), Element<T>::tolerance);
  }
}

TYPED_TEST(ReferenceSparse, ToAndFromDense) {
  using T = TypeParam;
  for (const Layer<T> &l : {this->layer(5, 4, 3, 5, 1), this->layer(9, 7, 1, 1, 1)}) {
    Operand values{"w", l.values}, dense{"d", typeOf<T>({l.topology.rows, l.topology.cols})};
    auto w = this->random(l.numWeights());
    Array matrix = plain::toDense(l.topology, w);
    Kernel exporting(entry("smet.to_dense", {l.t, values}, {dense}), Target::Reference);
    l.topology.fill(exporting, "t");
    exporting.set("w", w);
    exporting.set("d", std::vector<T>(matrix.size(), 9));
    ASSERT_TRUE(exporting.run());
    EXPECT_EQ(toDouble(exporting.template get<T>("d")), matrix);

    Kernel importing(entry("smet.from_dense", {l.t, dense}, {values}), Target::Reference);
    l.topology.fill(importing, "t");
    importing.set("d", std::vector<T>(matrix.begin(), matrix.end()));
    ASSERT_TRUE(importing.run());
    EXPECT_EQ(importing.template get<T>("w"), w);
  }
}

} // namespace
