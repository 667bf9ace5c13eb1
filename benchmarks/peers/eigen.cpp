//===- eigen.cpp - Eigen's sparse matrices as a peer of smet-bench --------===//
//
// Row-major sparse times row-major dense [features, tokens], which Eigen runs on OpenMP's threads. It has no product
// sampled at the entries of a sparse matrix.
//
//===----------------------------------------------------------------------===//
#include <Eigen/Sparse>
#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <random>

using Dense = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Sparse = Eigen::SparseMatrix<float, Eigen::RowMajor>;

/// A matrix of which round(density * blocks) blocks are active.
static Sparse randomWeight(int64_t n, int64_t k, int64_t r, int64_t c, double density) {
  std::mt19937 random(1);
  std::vector<int64_t> blocks((n / r) * (k / c));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), random);
  blocks.resize(std::max<int64_t>(std::llround(density * double(blocks.size())), 1));
  std::vector<Eigen::Triplet<float>> entries;
  for (int64_t block : blocks)
    for (int64_t i = 0; i < r; ++i)
      for (int64_t j = 0; j < c; ++j)
        entries.emplace_back(block / (k / c) * r + i, block % (k / c) * c + j, 0.1f);
  Sparse weight(n, k);
  weight.setFromTriplets(entries.begin(), entries.end());
  return weight;
}

struct Layer {
  Sparse w, wt;
  Dense x, dy, y, dx;
};

int main() {
  std::string line;
  std::getline(std::cin, line);
  auto job = nlohmann::json::parse(line);
  Eigen::setNbThreads(job["threads"]);
  int64_t tokens = job["tokens"];
  std::vector<Layer> layers;
  for (auto &shape : job["layers"]) {
    int64_t n = shape[0], k = shape[1];
    Sparse w = randomWeight(n, k, job["block"][0], job["block"][1], job["density"]);
    layers.push_back({w, Sparse(w.transpose()), Dense::Random(k, tokens), Dense::Random(n, tokens), Dense(n, tokens),
                      Dense(k, tokens)});
  }
  std::cout << "ready" << std::endl;
  size_t layer = 0;
  for (std::string op; std::cin >> layer >> op;) {
    Layer &l = layers[layer];
    auto start = std::chrono::steady_clock::now();
    if (op == "fwd")
      l.y.noalias() = l.w * l.x;
    else if (op == "dx")
      l.dx.noalias() = l.wt * l.dy;
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (op == "dw")
      std::cout << "none" << std::endl;
    else
      std::cout << seconds.count() << std::endl;
  }
}
