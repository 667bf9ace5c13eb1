//===- PlainLoops.h - every op as obvious loops in double -------*- C++ -*-===//
//
// What kernels are compared with. Token-major: x[t * F + f]. Written from the formulas in NNOps.td and SmetOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_KERNELS_PLAINLOOPS_H
#define SMET_TEST_UNIT_KERNELS_PLAINLOOPS_H

#include "KernelHarness.h"

#include <cmath>

namespace smet::test::plain {

using Array = std::vector<double>;
using Ids = std::vector<int32_t>;

inline Array rmsNorm(const Array &x, const Array &gamma, double eps) {
  size_t F = gamma.size(), T = x.size() / F;
  Array y(x.size());
  for (size_t t = 0; t < T; ++t) {
    double sum = 0;
    for (size_t f = 0; f < F; ++f)
      sum += x[t * F + f] * x[t * F + f];
    for (size_t f = 0; f < F; ++f)
      y[t * F + f] = gamma[f] * x[t * F + f] / std::sqrt(sum / F + eps);
  }
  return y;
}

/// The gradient of sum(dy * f(x)) by central differences: independent of any formula for it.
template <typename F> Array numericGradient(Array x, const Array &dy, F f, double h = 1e-5) {
  Array gradient(x.size());
  auto value = [&] {
    Array y = f(x);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i)
      sum += y[i] * dy[i];
    return sum;
  };
  for (size_t i = 0; i < x.size(); ++i) {
    double old = x[i];
    x[i] = old + h;
    double up = value();
    x[i] = old - h;
    double down = value();
    x[i] = old;
    gradient[i] = (up - down) / (2 * h);
  }
  return gradient;
}

inline Array rope(const Array &x, size_t features, size_t headDim, size_t seqLen, double theta, bool inverse,
                  size_t firstPosition = 0) {
  Array y(x.size());
  for (size_t t = 0; t < x.size() / features; ++t)
    for (size_t head = 0; head < features; head += headDim)
      for (size_t i = 0; i < headDim / 2; ++i) {
        double angle = double((firstPosition + t) % seqLen) * std::pow(theta, -2.0 * i / headDim);
        double c = std::cos(angle), s = inverse ? -std::sin(angle) : std::sin(angle);
        const double *in = &x[t * features + head];
        y[t * features + head + i] = in[i] * c - in[i + headDim / 2] * s;
        y[t * features + head + i + headDim / 2] = in[i + headDim / 2] * c + in[i] * s;
      }
  return y;
}

inline Array siluMul(const Array &gate, const Array &up) {
  Array y(gate.size());
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return y;
}

/// y = x wᵀ
inline Array linear(const Array &x, const Array &w, size_t N, size_t K) {
  size_t T = x.size() / K;
  Array y(T * N, 0);
  for (size_t t = 0; t < T; ++t)
    for (size_t n = 0; n < N; ++n)
      for (size_t k = 0; k < K; ++k)
        y[t * N + n] += x[t * K + k] * w[n * K + k];
  return y;
}

inline Array transpose(const Array &a, size_t rows, size_t cols) {
  Array b(a.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < cols; ++j)
      b[j * rows + i] = a[i * cols + j];
  return b;
}

struct AttentionResult {
  Array o, lse; // lse[head * T + t]
};

inline AttentionResult attention(const Array &q, const Array &k, const Array &v, size_t heads, size_t kvHeads,
                                 size_t headDim, size_t seqLen) {
  size_t F = heads * headDim, G = kvHeads * headDim, T = q.size() / F;
  AttentionResult r{Array(q.size(), 0), Array(heads * T)};
  for (size_t h = 0; h < heads; ++h)
    for (size_t t = 0; t < T; ++t) {
      size_t g = h / (heads / kvHeads), first = t / seqLen * seqLen;
      Array p;
      double sum = 0;
      for (size_t s = first; s <= t; ++s) {
        double dot = 0;
        for (size_t d = 0; d < headDim; ++d)
          dot += q[t * F + h * headDim + d] * k[s * G + g * headDim + d];
        p.push_back(std::exp(dot / std::sqrt(double(headDim))));
        sum += p.back();
      }
      r.lse[h * T + t] = std::log(sum);
      for (size_t s = first; s <= t; ++s)
        for (size_t d = 0; d < headDim; ++d)
          r.o[t * F + h * headDim + d] += p[s - first] / sum * v[s * G + g * headDim + d];
    }
  return r;
}

struct AttentionGradient {
  Array dq, dk, dv;
};

/// By the chain rule through o = p v, p = softmax(s) and s = q k / sqrt(D), each p computed where it is used.
inline AttentionGradient attentionGrad(const Array &q, const Array &k, const Array &v, const Array &dO, size_t heads,
                                       size_t kvHeads, size_t headDim, size_t seqLen) {
  size_t F = heads * headDim, G = kvHeads * headDim, T = q.size() / F;
  AttentionResult forward = attention(q, k, v, heads, kvHeads, headDim, seqLen);
  AttentionGradient r{Array(q.size(), 0), Array(k.size(), 0), Array(v.size(), 0)};
  for (size_t h = 0; h < heads; ++h)
    for (size_t t = 0; t < T; ++t) {
      size_t query = t * F + h * headDim;
      double delta = 0;
      for (size_t d = 0; d < headDim; ++d)
        delta += dO[query + d] * forward.o[query + d];
      for (size_t s = t / seqLen * seqLen; s <= t; ++s) {
        size_t key = s * G + h / (heads / kvHeads) * headDim;
        double score = 0, dp = 0;
        for (size_t d = 0; d < headDim; ++d) {
          score += q[query + d] * k[key + d] / std::sqrt(double(headDim));
          dp += dO[query + d] * v[key + d];
        }
        double p = std::exp(score - forward.lse[h * T + t]), ds = p * (dp - delta) / std::sqrt(double(headDim));
        for (size_t d = 0; d < headDim; ++d) {
          r.dq[query + d] += ds * k[key + d];
          r.dk[key + d] += ds * q[query + d];
          r.dv[key + d] += p * dO[query + d];
        }
      }
    }
  return r;
}

struct LossResult {
  double loss = 0;
  Array lse;
};

inline LossResult crossEntropy(const Array &x, const Array &w, const Ids &targets, size_t V, size_t F) {
  Array z = linear(x, w, V, F);
  LossResult r;
  size_t valid = 0;
  for (size_t t = 0; t < targets.size(); ++t) {
    double sum = 0;
    for (size_t v = 0; v < V; ++v)
      sum += std::exp(z[t * V + v]);
    r.lse.push_back(std::log(sum));
    if (targets[t] < 0)
      continue;
    r.loss += std::log(sum) - z[t * V + targets[t]];
    ++valid;
  }
  r.loss /= valid;
  return r;
}

/// The N x K matrix of a masked weight.
template <typename T> Array toDense(const Topology &topology, const std::vector<T> &values) {
  Array dense(topology.rows * topology.cols, 0);
  int64_t R = topology.blockRows, C = topology.blockCols;
  for (int64_t s = 0; s < topology.nnz(); ++s) {
    auto [i, j] = topology.block(s);
    for (int64_t r = 0; r < R; ++r)
      for (int64_t c = 0; c < C; ++c)
        dense[(i * R + r) * topology.cols + j * C + c] = values[(s * R + r) * C + c];
  }
  return dense;
}

/// The values at the active blocks of an N x K matrix.
inline Array fromDense(const Topology &topology, const Array &dense) {
  Array values;
  int64_t R = topology.blockRows, C = topology.blockCols;
  for (int64_t s = 0; s < topology.nnz(); ++s) {
    auto [i, j] = topology.block(s);
    for (int64_t r = 0; r < R; ++r)
      for (int64_t c = 0; c < C; ++c)
        values.push_back(dense[(i * R + r) * topology.cols + j * C + c]);
  }
  return values;
}

/// The optimizer's rule: the formula of smet.adam_step.
struct AdamW {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0;
  int64_t updates = 10;
  bool scaling = true;

  std::string attribute() const {
    char text[256];
    snprintf(text, sizeof text,
             "{adamw = #smet.adamw<beta1 = %.17e, beta2 = %.17e, eps = %.17e, weight_decay = %.17e, "
             "warmup_updates = %ld, lr_scaling = %s>}",
             beta1, beta2, eps, decay, long(updates), scaling ? "true" : "false");
    return text;
  }
  /// The learning rate at step t of a block whose age is now a, in a layer of density d.
  double rate(double lr, double d, int64_t a, int64_t t) const {
    double scaled = scaling ? lr / std::sqrt(d) : lr;
    return a == t || updates <= 1 ? scaled : scaled * std::min(double(a) / updates, 1.0);
  }
  void update(double &w, double &m, double &v, double g, double a, double rate) const {
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    double mhat = m / (1 - std::pow(beta1, a)), vhat = v / (1 - std::pow(beta2, a));
    w -= rate * (mhat / (std::sqrt(vhat) + eps) + decay * w);
  }
};

} // namespace smet::test::plain

#endif // SMET_TEST_UNIT_KERNELS_PLAINLOOPS_H
