//===- VjpTest.cpp - every gradient against finite differences ------------===//
//
// In f64 through the reference lowering: op and vector-Jacobian product are compiled, and for random entries x_i of
// every differentiable input
//
//   sum over outputs of dy * (y(x_i + h) - y(x_i - h)) / 2h  =  dx_i,
//
// where y stands for the op's first result and dy is random.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/KernelHarness.h"
#include "test/unit/support/VjpText.h"

using namespace smet;
using namespace smet::test;

namespace {

class VjpTest {
public:
  VjpTest(const std::string &op, const std::vector<Operand> &inputs, const std::vector<Operand> &outputs,
          const std::string &attributes = "")
      : result(outputs[0].name), kernel(vjpText(entry(op, inputs, outputs, attributes)), Target::Reference) {}

  Kernel &program() { return kernel; }

  void random(const std::string &name, double mean = 0, double scale = 1) {
    std::vector<double> values = randomVector<double>(size(name), rng, scale);
    for (double &value : values)
      value += mean;
    kernel.set(name, values);
  }

  /// Compares the gradients of these inputs.
  void check(const std::vector<std::string> &inputs) {
    ASSERT_TRUE(kernel.valid());
    random("d" + result);
    ASSERT_TRUE(kernel.run("vjp"));
    std::map<std::string, std::vector<double>> gradients;
    for (const std::string &input : inputs)
      gradients[input] = kernel.get<double>("d" + input);
    for (const std::string &input : inputs)
      checkInput(input, gradients[input]);
  }

  std::mt19937 rng{23};

private:
  size_t size(const std::string &name) { return kernel.get<double>(name).size(); }

  /// dy . y
  double project() {
    EXPECT_TRUE(kernel.run("main"));
    std::vector<double> y = kernel.get<double>(result), dy = kernel.get<double>("d" + result);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i)
      sum += y[i] * dy[i];
    return sum;
  }

  void checkInput(const std::string &input, const std::vector<double> &gradient) {
    std::vector<double> x = kernel.get<double>(input);
    ASSERT_EQ(x.size(), gradient.size());
    double largest = 1e-3;
    for (double value : gradient)
      largest = std::max(largest, std::abs(value));
    size_t stride = std::max<size_t>(1, x.size() / 150);
    for (size_t i = rng() % stride; i < x.size(); i += stride) {
      const double h = 1e-5, old = x[i];
      x[i] = old + h;
      kernel.set(input, x);
      double above = project();
      x[i] = old - h;
      kernel.set(input, x);
      double below = project();
      x[i] = old;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-6 * largest) << input << "[" << i << "]";
    }
    kernel.set(input, x);
  }

  std::string result;
  Kernel kernel;
};

std::string array(const std::vector<int64_t> &shape) { return tensorType(shape, "f64"); }
std::string indices(const std::vector<int64_t> &shape) { return tensorType(shape, "i32"); }

TEST(Vjp, Embedding) {
  VjpTest test("nn.embedding", {{"table", array({9, 5})}, {"ids", indices({14})}}, {{"x", array({14, 5})}});
  test.random("table");
  test.program().set("ids", std::vector<int32_t>{3, 3, 0, 8, 1, 3, 7, 7, 2, 0, 3, 1, 1, 5}); // 4 and 6 never
  test.check({"table"});
}

TEST(Vjp, RMSNorm) {
  VjpTest test("nn.rms_norm", {{"x", array({7, 13})}, {"gamma", array({13})}}, {{"y", array({7, 13})}},
               "{eps = 1.0e-3 : f64}");
  test.random("x");
  test.random("gamma", 1, 0.3);
  test.check({"x", "gamma"});
}

TEST(Vjp, Rope) {
  for (const char *inverse : {"", ", inverse"}) {
    VjpTest test("nn.rope", {{"x", array({10, 12})}}, {{"y", array({10, 12})}},
                 std::string("{head_dim = 6 : i64, seq_len = 5 : i64, theta = 100.0 : f64") + inverse + "}");
    test.random("x");
    test.check({"x"});
  }
}

TEST(Vjp, SiluMul) {
  VjpTest test("nn.silu_mul", {{"gate", array({6, 11})}, {"up", array({6, 11})}}, {{"y", array({6, 11})}});
  test.random("gate", 0, 3);
  test.random("up");
  test.check({"gate", "up"});
}

TEST(Vjp, Add) {
  VjpTest test("nn.add", {{"a", array({3, 4})}, {"b", array({3, 4})}}, {{"c", array({3, 4})}});
  test.random("a");
  test.random("b");
  test.check({"a", "b"});
}

void checkAttention(int heads, int kvHeads, int seqLen) {
  const int headDim = 4, tokens = 2 * seqLen;
  std::string q = array({tokens, heads * headDim}), kv = array({tokens, kvHeads * headDim});
  VjpTest test("nn.attention", {{"q", q}, {"k", kv}, {"v", kv}}, {{"o", q}, {"lse", array({heads, tokens})}},
               "{num_heads = " + std::to_string(heads) + " : i64, num_kv_heads = " + std::to_string(kvHeads) +
                   " : i64, seq_len = " + std::to_string(seqLen) + " : i64}");
  for (const char *name : {"q", "k", "v"})
    test.random(name);
  test.check({"q", "k", "v"});
}

TEST(Vjp, Attention) { checkAttention(3, 3, 7); }
TEST(Vjp, GroupedQueryAttention) { checkAttention(6, 2, 5); }
TEST(Vjp, MultiQueryAttention) { checkAttention(4, 1, 1); }

TEST(Vjp, Linear) {
  VjpTest test("nn.linear", {{"x", array({7, 5})}, {"w", array({9, 5})}}, {{"y", array({7, 9})}});
  test.random("x");
  test.random("w");
  test.check({"x", "w"});
}

TEST(Vjp, LinearCrossEntropy) {
  VjpTest test("nn.linear_cross_entropy",
               {{"x", array({8, 5})}, {"w", array({11, 5})}, {"targets", indices({8})}, {"num_valid", indices({})}},
               {{"loss", array({})}, {"lse", array({8})}});
  test.random("x");
  test.random("w");
  test.program().set("targets", std::vector<int32_t>{3, -1, 0, 10, 3, -1, 7, 3}); // ignored and repeated
  test.program().set("num_valid", std::vector<int32_t>{17});                      // of a larger, accumulated batch
  test.check({"x", "w"});
}

/// With a row of blocks that is empty and one that is full.
void checkMaskedLinear(int blockRows, int blockCols, double density) {
  std::mt19937 rng(5);
  const int rows = 24, cols = 16, tokens = 7;
  Topology topology = Topology::random(rows, cols, blockRows, blockCols, density, rng, /*emptyRow=*/1, /*fullRow=*/2);
  VjpTest test("smet.linear",
               {{"t", topology.type(), "topology"},
                {"values", array({topology.nnz(), blockRows, blockCols})},
                {"x", array({tokens, cols})}},
               {{"y", array({tokens, rows})}});
  topology.fill(test.program(), "t");
  test.random("values");
  test.random("x");
  test.check({"values", "x"});
}

TEST(Vjp, MaskedLinear) {
  checkMaskedLinear(1, 1, 0.3);
  checkMaskedLinear(1, 8, 0.4);
  checkMaskedLinear(8, 1, 0.4);
  checkMaskedLinear(4, 4, 0.4);
  checkMaskedLinear(8, 2, 0.5);
}

} // namespace
