//===- NNLayoutTest.cpp - packed tiles, and ops that do not care ----------===//
#include "PlainLoops.h"

using namespace smet;
using namespace smet::test;

namespace {
std::vector<float> random(size_t n) {
  static std::mt19937 rng(3);
  return randomVector<float>(n, rng);
}
} // namespace

// y[tile][f][lane] = x[tile * lanes + lane][f]; lanes beyond the tokens are zero, whatever was there.
TEST(NNLayout, PackAndUnpack) {
  for (auto [T, F, L] : {std::tuple(70, 20, 64), {128, 5, 64}, {1, 20, 16}, {17, 3, 16}}) {
    size_t tiles = (T + L - 1) / L;
    std::string rows = tensorType({T, F}), packed = tensorType({int64_t(tiles), F, L});
    auto x = random(T * F);
    std::vector<float> y(tiles * F * L, 0);
    for (int t = 0; t < T; ++t)
      for (int f = 0; f < F; ++f)
        y[(t / L * F + f) * L + t % L] = x[t * F + f];
    Kernel pack(entry("nn.pack", {{"x", rows}}, {{"y", packed, "output"}}), Target::CPU);
    pack.set("x", x);
    pack.set("y", std::vector<float>(y.size(), NAN));
    ASSERT_TRUE(pack.run());
    EXPECT_EQ(pack.get<float>("y"), y) << T;
    Kernel unpack(entry("nn.unpack", {{"x", packed}}, {{"y", rows, "output"}}), Target::CPU);
    unpack.set("x", y);
    ASSERT_TRUE(unpack.run());
    EXPECT_EQ(unpack.get<float>("y"), x) << T;
  }
}

// Gradients of parameters are added and filled in their own shapes.
TEST(NNLayout, AddAndFillInAnyShape) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {1}, {37}, {16}, {300, 41}, {3, 5, 7}, {2, 3, 4, 5}}) {
    std::string type = tensorType(shape);
    size_t n = 1;
    for (int64_t size : shape)
      n *= size;
    auto a = random(n), b = random(n);
    Kernel add(entry("nn.add", {{"a", type}, {"b", type}}, {{"c", type, "output"}}), Target::CPU);
    add.set("a", a);
    add.set("b", b);
    ASSERT_TRUE(add.run());
    auto c = add.get<float>("c");
    for (size_t i = 0; i < n; ++i)
      ASSERT_EQ(c[i], a[i] + b[i]) << type;
    Kernel fill(entry("nn.fill", {}, {{"x", type, "output"}}, "{value = 1.5 : f64}"), Target::CPU);
    ASSERT_TRUE(fill.run());
    EXPECT_EQ(fill.get<float>("x"), std::vector<float>(n, 1.5f)) << type;
  }
}
