//===- GemmTest.cpp - every provider against a plain loop -----------------===//

#include "runtime/cpu/Gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

using namespace smet::rt;

namespace {

struct Named {
  std::string name;
  Sgemm sgemm;
};

/// All that this machine can run.
std::vector<Named> providers() {
  OwnGemmVariants own = ownGemmVariants();
  std::vector<Named> all = {{"generic", own.generic}};
  if (own.avx2)
    all.push_back({"avx2", own.avx2});
  if (own.avx512)
    all.push_back({"avx512", own.avx512});
  if (auto oneDnn = oneDnnGemm())
    all.push_back({"onednn", oneDnn->sgemm});
  return all;
}

struct Shape {
  int64_t m, n, k;
};

/// Runs one product with leading dimensions wider than needed and compares all of C, its margin included.
void check(const Named &provider, Shape s, bool transa, bool transb, float alpha, float beta) {
  int64_t lda = (transa ? s.m : s.k) + 3, ldb = (transb ? s.k : s.n) + 1, ldc = s.n + 5;
  std::mt19937 random(int(s.m * 31 + s.n * 7 + s.k));
  std::uniform_real_distribution<float> uniform(-1, 1);
  auto fill = [&](int64_t size) {
    std::vector<float> values(size);
    for (float &v : values)
      v = uniform(random);
    return values;
  };
  auto a = fill((transa ? s.k : s.m) * lda), b = fill((transb ? s.n : s.k) * ldb), c = fill(s.m * ldc);
  if (beta == 0)
    std::fill(c.begin(), c.end(), std::nanf("")); // must not be read
  auto expected = c;
  std::vector<double> error(c.size());
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < s.k; ++p)
        sum += double(transa ? a[p * lda + i] : a[i * lda + p]) * (transb ? b[j * ldb + p] : b[p * ldb + j]);
      float &e = expected[i * ldc + j];
      e = float(alpha * sum + (beta == 0 ? 0.0 : double(beta) * e));
    }
  provider.sgemm(transa, transb, s.m, s.n, s.k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  double bound = 1e-6 * (4 + std::sqrt(double(s.k))); // f32 rounding of a sum of k products below 1
  for (size_t i = 0; i < c.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(c[i]))
      continue;
    ASSERT_NEAR(c[i], expected[i], bound) << provider.name << " " << s.m << "x" << s.n << "x" << s.k << " transa "
                                          << transa << " transb " << transb << " at " << i;
  }
}

} // namespace

TEST(Gemm, EveryProviderAgreesWithALoop) {
  const Shape shapes[] = {{1, 1, 1},    {1, 33, 5},     {13, 1, 300}, {12, 32, 256},  {7, 65, 31},
                          {64, 64, 64}, {25, 513, 257}, {3, 1030, 9}, {100, 40, 600}, {2, 3, 1000}};
  for (const Named &provider : providers())
    for (Shape s : shapes)
      for (bool transa : {false, true})
        for (bool transb : {false, true}) {
          check(provider, s, transa, transb, 1, 0);
          check(provider, s, transa, transb, 1, 1);
          check(provider, s, transa, transb, -0.5f, 0.25f);
        }
}

TEST(Gemm, NoDepthOnlyScales) {
  for (const Named &provider : providers()) {
    std::vector<float> c = {1, 2, 3, 4}, none(4);
    provider.sgemm(0, 0, 2, 2, 0, 1, none.data(), 1, none.data(), 2, 0.5f, c.data(), 2);
    EXPECT_EQ(c, (std::vector<float>{0.5f, 1, 1.5f, 2})) << provider.name;
  }
}

TEST(Gemm, SameBitsOnEveryThread) {
  // oneDNN splits the depth among OpenMP threads, so a thread count that differs between threads changes bits.
  for (const Named &provider : providers()) {
    int64_t n = 96, k = 4096;
    std::vector<float> a(n * k), b(n * k), here(n * n), there(n * n);
    std::mt19937 random(3);
    for (float &v : a)
      v = float(random()) * 1e-9f;
    for (float &v : b)
      v = float(random()) * 1e-9f;
    auto run = [&](std::vector<float> &c) {
      provider.sgemm(0, 1, n, n, k, 1, a.data(), k, b.data(), k, 0, c.data(), n);
    };
    run(here);
    std::thread([&] { run(there); }).join();
    EXPECT_EQ(here, there) << provider.name;
  }
}

TEST(Gemm, EnvironmentChooses) {
  setenv("SMET_GEMM", "own", 1);
  EXPECT_EQ(selectGemm()->name.substr(0, 3), "own");
  setenv("SMET_GEMM", "onednn", 1);
  auto library = selectGemm();
  EXPECT_EQ(bool(library), bool(oneDnnGemm()));
  setenv("SMET_GEMM", "cublas", 1);
  auto unknown = selectGemm();
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("'cublas'"), std::string::npos);
  unsetenv("SMET_GEMM");
  EXPECT_EQ(selectGemm()->name, library ? library->name : ownGemm().name);
}
