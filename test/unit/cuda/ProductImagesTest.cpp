//===- ProductImagesTest.cpp - sparse products as images for GPUs ---------===//
//
// ptxas takes every kernel, none spills, and activations are read 16 bytes at a time. Blocks of bf16 from 16 x 16 on go
// through tensor cores.
//
//===----------------------------------------------------------------------===//
#include "Images.h"

#include "test/unit/kernels/KernelHarness.h"

#include <algorithm>

using namespace smet;
using namespace smet::test;

namespace {

struct Product {
  std::string chip, type;
  int64_t blockRows, blockCols;
};

std::ostream &operator<<(std::ostream &os, const Product &p) {
  return os << p.chip << " " << p.type << " " << p.blockRows << "x" << p.blockCols;
}

std::vector<Product> products() {
  std::vector<Product> all;
  for (const char *chip : {"sm_80", "sm_90a"})
    for (const char *type : {"f32", "bf16"})
      for (auto [rows, cols] : {std::pair{1, 1}, {1, 16}, {16, 1}, {4, 4}, {16, 16}, {3, 5}, {32, 64}, {64, 64}})
        all.push_back({chip, type, rows, cols});
  return all;
}

struct ProductImages : testing::TestWithParam<Product> {
  const Product &p = GetParam();
  int64_t rows = p.blockRows * 12, cols = p.blockCols * 12, nnz = 20, tokens = 256;
  std::string topology =
      fmt::format("!smet.topology<{}x{}, block = [{}, {}], nnz = {}>", rows, cols, p.blockRows, p.blockCols, nnz);
  std::string values = tensorType({nnz, p.blockRows, p.blockCols}, p.type);
  std::string activation(int64_t features) const { return tensorType({tokens, features}, p.type); }

  /// All kernels of the op have these properties.
  void check(const std::string &op, const std::vector<Operand> &inputs, const Operand &init,
             const std::string &attributes = "") {
    auto kernels = compileImages({{"module", entry(op, inputs, {init}, attributes)}}, p.chip);
    expectNoSpills(kernels);
    auto any = [&](auto has) {
      return std::ranges::any_of(kernels,
                                 [&](const rt::KernelReport &k) { return k.callee.starts_with("k_smet") && has(k); });
    };
    EXPECT_TRUE(any([](const rt::KernelReport &k) { return k.globalLoads.contains(16) || k.asyncCopies.contains(16); }))
        << op;
    bool onTensorCores = p.type == "bf16" && p.blockRows % 16 == 0 && p.blockCols % 16 == 0;
    EXPECT_EQ(any([](const rt::KernelReport &k) { return k.mma > 0 && k.asyncCopies.contains(16); }), onTensorCores)
        << op;
  }
};

} // namespace

TEST_P(ProductImages, Spmm) {
  check("smet.spmm", {{"t", topology, "topology"}, {"w", values}, {"x", activation(cols)}}, {"y", activation(rows)});
  check("smet.spmm", {{"t", topology, "topology"}, {"w", values}, {"x", activation(rows)}}, {"y", activation(cols)},
        "{transpose}");
}

TEST_P(ProductImages, Sddmm) {
  check("smet.sddmm", {{"t", topology, "topology"}, {"x", activation(cols)}, {"dy", activation(rows)}}, {"dw", values});
}

INSTANTIATE_TEST_SUITE_P(Blocks, ProductImages, testing::ValuesIn(products()));
