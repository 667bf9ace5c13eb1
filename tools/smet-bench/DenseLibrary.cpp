//===- DenseLibrary.cpp - a peer by the GEMM of a shared library ----------===//
//
// Activations are feature-major [features][tokens], which makes each of the three products one plain row-major GEMM.
//
//===----------------------------------------------------------------------===//
#include "Job.h"
#include "Peer.h"
#include "Statistics.h"

#include <dlfcn.h>
#include <iostream>

namespace smet::bench {
namespace {

using DnnlSgemm = int (*)(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                          int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
using CblasSgemm = void (*)(int order, int transa, int transb, int m, int n, int k, float alpha, const float *a,
                            int lda, const float *b, int ldb, float beta, float *c, int ldc);

/// C [m, n] = op(A) op(B), row-major.
struct Gemm {
  DnnlSgemm dnnl = nullptr;
  CblasSgemm cblas = nullptr;

  static rt::Expected<Gemm> open(const std::string &library) {
    void *handle = nullptr;
    if (library == "onednn")
      for (const char *file : {"libdnnl.so.2", "libdnnl.so.3"})
        handle = handle ? handle : dlopen(file, RTLD_NOW | RTLD_LOCAL);
    else
      handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL); // MKL opens the rest of itself
    if (!handle)
      return rt::fail("cannot open {}: {}", library, dlerror());
    Gemm gemm;
    gemm.dnnl = reinterpret_cast<DnnlSgemm>(dlsym(handle, "dnnl_sgemm"));
    gemm.cblas = reinterpret_cast<CblasSgemm>(dlsym(handle, "cblas_sgemm"));
    if (!gemm.dnnl && !gemm.cblas)
      return rt::fail("{} has neither dnnl_sgemm nor cblas_sgemm", library);
    return gemm;
  }

  void operator()(bool transa, bool transb, int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                  float *c) const {
    int64_t lda = transa ? m : k, ldb = transb ? k : n;
    if (dnnl) {
      dnnl(transa ? 'T' : 'N', transb ? 'T' : 'N', m, n, k, 1, a, lda, b, ldb, 0, c, n);
      return;
    }
    constexpr int rowMajor = 101, plain = 111, transposed = 112;
    cblas(rowMajor, transa ? transposed : plain, transb ? transposed : plain, int(m), int(n), int(k), 1, a, int(lda), b,
          int(ldb), 0, c, int(n));
  }
};

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = float(i * 7919 % 1009) * 1e-3f - 0.5f;
  return values;
}

bool isPositive(const nlohmann::json &value) { return value.is_number_integer() && value.get<int64_t>() > 0; }

/// Tokens and layers of a job of smet-bench linear or layer (Job::toJson).
rt::Expected<Job> readJob(const std::string &line) {
  auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("tokens") || !isPositive(json["tokens"]) || !json.contains("layers"))
    return rt::fail("the job is not one of smet-bench linear or layer: {}", line);
  Job job;
  job.tokens = json["tokens"];
  for (const auto &shape : json["layers"]) {
    if (!shape.is_array() || shape.size() != 2 || !isPositive(shape[0]) || !isPositive(shape[1]))
      return rt::fail("the job has a layer that is no [rows, columns]: {}", shape.dump());
    job.layers.push_back({shape[0], shape[1]});
  }
  return job;
}

} // namespace

rt::Expected<int> servePeer(const std::string &library) {
  std::string line;
  if (!std::getline(std::cin, line))
    return rt::fail("smet-bench serve answers another smet-bench on stdin; it is not a command of its own");
  auto job = readJob(line);
  if (!job)
    return std::unexpected(job.error());
  auto gemm = Gemm::open(library);
  if (!gemm)
    return std::unexpected(gemm.error());
  int64_t tokens = job->tokens, side = 0, weights = 0;
  for (auto [rows, cols] : job->layers) {
    side = std::max({side, rows, cols});
    weights = std::max(weights, rows * cols);
  }
  // Results have their own arrays: fed back, they would soon be denormal or infinite.
  std::vector<float> x = numbers(side * tokens), dy = x, y = x, dx = x, w = numbers(weights), dw = w;
  std::cout << "ready" << std::endl;
  size_t layer = 0;
  for (std::string op; std::cin >> layer >> op;) {
    if (layer >= job->layers.size() || std::ranges::find(opNames, op) == opNames.end())
      return rt::fail("there is no product '{}' of layer {}", op, layer);
    auto [rows, cols] = job->layers[layer];
    std::cout << secondsOf([&] {
      if (op == name(Op::Fwd))
        (*gemm)(false, false, rows, tokens, cols, w.data(), x.data(), y.data());
      else if (op == name(Op::Dx))
        (*gemm)(true, false, cols, tokens, rows, w.data(), dy.data(), dx.data());
      else
        (*gemm)(false, true, rows, cols, tokens, dy.data(), x.data(), dw.data());
    }) << std::endl;
  }
  return 0;
}

} // namespace smet::bench
