//===- Job.h - what every contender computes --------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_JOB_H
#define SMET_TOOLS_BENCH_JOB_H

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smet::bench {

/// The three products of a linear layer with the weight W [rows, cols], x [tokens, cols] and y [tokens, rows].
enum class Op {
  Fwd, ///< y = x Wᵀ
  Dx,  ///< dx = dy W
  Dw,  ///< dW = dyᵀ x (of a sparse layer: at its active weights)
};
inline constexpr std::array ops = {Op::Fwd, Op::Dx, Op::Dw};
inline constexpr std::array<std::string_view, 3> opNames = {"fwd", "dx", "dw"};
inline std::string_view name(Op op) { return opNames[size_t(op)]; }

struct Shape {
  int64_t rows, cols;
};

/// Linear layers, each computed by itself.
struct Job {
  std::vector<Shape> layers;
  int64_t tokens = 2048, threads = 1;
  double density = 0.1;
  std::string dtype = "f32"; ///< of activations and weights, or "bf16"; only smet knows it
  std::string cpu = "host";  ///< for which smet compiles, as LLVM names it
  int64_t blockRows = 16, blockCols = 16;

  /// Active blocks of a layer.
  int64_t nnz(const Shape &shape) const {
    double blocks = double(shape.rows / blockRows) * double(shape.cols / blockCols);
    return std::max<int64_t>(std::llround(density * blocks), 1);
  }
  /// FLOPs of one of the three products over all layers, dense and at the active weights.
  double denseFlops() const {
    double weights = 0;
    for (const Shape &shape : layers)
      weights += double(shape.rows) * double(shape.cols);
    return 2 * weights * double(tokens);
  }
  double activeFlops() const {
    double blocks = 0;
    for (const Shape &shape : layers)
      blocks += double(nnz(shape));
    return 2 * blocks * double(blockRows * blockCols) * double(tokens);
  }

  nlohmann::json toJson() const {
    nlohmann::json shapes = nlohmann::json::array();
    for (const Shape &shape : layers)
      shapes.push_back({shape.rows, shape.cols});
    return {{"layers", shapes},   {"tokens", tokens}, {"threads", threads},
            {"density", density}, {"dtype", dtype},   {"block", {blockRows, blockCols}}};
  }
};

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_JOB_H
