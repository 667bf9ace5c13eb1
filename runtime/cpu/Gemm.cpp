//===- Gemm.cpp - oneDNN and the choice of the provider -------------------===//

#include "runtime/cpu/Gemm.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

namespace smet::rt {
namespace {

/// dnnl_sgemm of oneDNN 2 and 3: row-major, transposition by 'N' or 'T'.
using DnnlSgemm = int (*)(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
using OmpSetThreads = void (*)(int);

struct OneDnn {
  std::string error; ///< why it cannot be used; empty if it can
  std::string name;
  DnnlSgemm sgemm = nullptr;
  OmpSetThreads setThreads = nullptr;
};

/// Opens oneDNN once; it stays open. Each library is looked into through its own handle, so that the OpenMP runtime
/// found is the one that it uses.
const OneDnn &oneDnn() {
  static const OneDnn library = [] {
    OneDnn found;
    for (const char *file : {"libdnnl.so.3", "libdnnl.so.2"}) {
      void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
      if (!handle)
        continue;
      found.name = fmt::format("oneDNN ({})", file);
      found.sgemm = reinterpret_cast<DnnlSgemm>(dlsym(handle, "dnnl_sgemm"));
      found.setThreads = reinterpret_cast<OmpSetThreads>(dlsym(handle, "omp_set_num_threads"));
      if (!found.sgemm)
        found.error = fmt::format("{} has no dnnl_sgemm", file);
      return found;
    }
    found.error = "neither libdnnl.so.3 nor libdnnl.so.2 can be opened; install libdnnl3 or libdnnl2";
    return found;
  }();
  return library;
}

void oneDnnSgemm(int64_t transa, int64_t transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                 int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
  if (scaleIfEmpty(m, n, k, beta, c, ldc))
    return;
  const OneDnn &library = oneDnn();
  // OpenMP keeps its thread count per thread, and our pool is the one that parallelizes.
  thread_local bool singleThreaded = false;
  if (!singleThreaded && library.setThreads)
    library.setThreads(1);
  singleThreaded = true;
  library.sgemm(transa ? 'T' : 'N', transb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

} // namespace

bool scaleIfEmpty(int64_t m, int64_t n, int64_t k, float beta, float *c, int64_t ldc) {
  if (m > 0 && n > 0 && k > 0)
    return false;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
  return true;
}

Expected<GemmProvider> oneDnnGemm() {
  const OneDnn &library = oneDnn();
  if (!library.error.empty())
    return fail("oneDNN: {}", library.error);
  return GemmProvider{library.name, oneDnnSgemm};
}

Expected<GemmProvider> selectGemm() {
  const char *wish = std::getenv("SMET_GEMM");
  std::string_view choice = wish ? wish : "";
  if (choice == "own")
    return ownGemm();
  if (choice == "onednn")
    return oneDnnGemm();
  if (!choice.empty())
    return fail("SMET_GEMM is '{}'; it may be 'own' or 'onednn'", choice);
  auto provider = oneDnnGemm();
  return provider ? *provider : ownGemm();
}

} // namespace smet::rt
