//===- PlainLlama.cpp - a LLaMA in plain loops ----------------------------===//
#include "PlainLlama.h"

#include <algorithm>
#include <cmath>

using namespace smet::test;

namespace {

/// Rows of activations: [tokens][features].
struct Rows {
  int tokens = 0, features = 0;
  Numbers data;
  Rows() = default;
  Rows(int tokens, int features) : tokens(tokens), features(features), data(size_t(tokens) * features) {}
  double &at(int t, int f) { return data[size_t(t) * features + f]; }
  double at(int t, int f) const { return data[size_t(t) * features + f]; }
};

//===--- y = x Wᵀ ---===//

Rows multiply(const Rows &x, const Numbers &w, int outputs) {
  Rows y(x.tokens, outputs);
  for (int t = 0; t < x.tokens; ++t)
    for (int n = 0; n < outputs; ++n)
      for (int k = 0; k < x.features; ++k)
        y.at(t, n) += x.at(t, k) * w[size_t(n) * x.features + k];
  return y;
}

/// Adds to dx and dw.
void multiplyGrad(const Rows &x, const Numbers &w, const Rows &dy, Rows &dx, Numbers &dw) {
  for (int t = 0; t < x.tokens; ++t)
    for (int n = 0; n < dy.features; ++n)
      for (int k = 0; k < x.features; ++k) {
        dx.at(t, k) += dy.at(t, n) * w[size_t(n) * x.features + k];
        dw[size_t(n) * x.features + k] += dy.at(t, n) * x.at(t, k);
      }
}

//===--- RMSNorm ---===//

double inverseRms(const Rows &x, int t, double eps) {
  double squares = 0;
  for (int f = 0; f < x.features; ++f)
    squares += x.at(t, f) * x.at(t, f);
  return 1 / std::sqrt(squares / x.features + eps);
}

Rows normalize(const Rows &x, const Numbers &gamma, double eps) {
  Rows y(x.tokens, x.features);
  for (int t = 0; t < x.tokens; ++t)
    for (int f = 0; f < x.features; ++f)
      y.at(t, f) = gamma[f] * x.at(t, f) * inverseRms(x, t, eps);
  return y;
}

/// d y_f / d x_g = gamma_f (r [f == g] - x_f x_g r^3 / F). Adds to dx and dgamma.
void normalizeGrad(const Rows &x, const Numbers &gamma, double eps, const Rows &dy, Rows &dx, Numbers &dgamma) {
  for (int t = 0; t < x.tokens; ++t) {
    double r = inverseRms(x, t, eps), projection = 0;
    for (int f = 0; f < x.features; ++f) {
      dgamma[f] += dy.at(t, f) * x.at(t, f) * r;
      projection += dy.at(t, f) * gamma[f] * x.at(t, f);
    }
    for (int g = 0; g < x.features; ++g)
      dx.at(t, g) += r * gamma[g] * dy.at(t, g) - r * r * r * x.at(t, g) * projection / x.features;
  }
}

//===--- rotary embedding: features i and i + D / 2 of a head turn by position * theta^(-2 i / D) ---===//

Rows rotate(const Rows &x, int headDim, int seqLen, double theta, double direction) {
  Rows y(x.tokens, x.features);
  for (int t = 0; t < x.tokens; ++t)
    for (int start = 0; start < x.features; start += headDim)
      for (int i = 0; i < headDim / 2; ++i) {
        double angle = direction * (t % seqLen) * std::pow(theta, -2.0 * i / headDim);
        double a = x.at(t, start + i), c = x.at(t, start + i + headDim / 2);
        y.at(t, start + i) = a * std::cos(angle) - c * std::sin(angle);
        y.at(t, start + i + headDim / 2) = c * std::cos(angle) + a * std::sin(angle);
      }
  return y;
}

//===--- causal grouped-query attention ---===//

struct Attention {
  int heads, kvHeads, headDim, seqLen;

  /// Probabilities of query t in head h over the positions from the start of its sequence to t.
  Numbers probabilities(const Rows &q, const Rows &k, int t, int h) const {
    int first = t / seqLen * seqLen, kv = h / (heads / kvHeads);
    Numbers p;
    for (int s = first; s <= t; ++s) {
      double score = 0;
      for (int d = 0; d < headDim; ++d)
        score += q.at(t, h * headDim + d) * k.at(s, kv * headDim + d);
      p.push_back(score / std::sqrt(double(headDim)));
    }
    double largest = *std::max_element(p.begin(), p.end()), sum = 0;
    for (double &value : p)
      sum += value = std::exp(value - largest);
    for (double &value : p)
      value /= sum;
    return p;
  }

  Rows forward(const Rows &q, const Rows &k, const Rows &v) const {
    Rows o(q.tokens, q.features);
    for (int t = 0; t < q.tokens; ++t)
      for (int h = 0; h < heads; ++h) {
        int first = t / seqLen * seqLen, kv = h / (heads / kvHeads);
        Numbers p = probabilities(q, k, t, h);
        for (int s = first; s <= t; ++s)
          for (int d = 0; d < headDim; ++d)
            o.at(t, h * headDim + d) += p[s - first] * v.at(s, kv * headDim + d);
      }
    return o;
  }

  void backward(const Rows &q, const Rows &k, const Rows &v, const Rows &dout, Rows &dq, Rows &dk, Rows &dv) const {
    double scale = 1 / std::sqrt(double(headDim));
    for (int t = 0; t < q.tokens; ++t)
      for (int h = 0; h < heads; ++h) {
        int first = t / seqLen * seqLen, kv = h / (heads / kvHeads);
        Numbers p = probabilities(q, k, t, h), dp(p.size());
        double expected = 0;
        for (int s = first; s <= t; ++s) {
          for (int d = 0; d < headDim; ++d) {
            dp[s - first] += dout.at(t, h * headDim + d) * v.at(s, kv * headDim + d);
            dv.at(s, kv * headDim + d) += p[s - first] * dout.at(t, h * headDim + d);
          }
          expected += p[s - first] * dp[s - first];
        }
        for (int s = first; s <= t; ++s) {
          double dscore = p[s - first] * (dp[s - first] - expected) * scale;
          for (int d = 0; d < headDim; ++d) {
            dq.at(t, h * headDim + d) += dscore * k.at(s, kv * headDim + d);
            dk.at(s, kv * headDim + d) += dscore * q.at(t, h * headDim + d);
          }
        }
      }
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// What the backward pass of a layer needs of its forward pass.
struct Layer {
  Rows x, normed, q, k, v, attended, middle, normedMiddle, gate, up, activated;
};

/// Forward and backward of one call of PlainLlama::loss.
class Pass {
public:
  Pass(const PlainLlama &model, const std::vector<int> &tokens, const std::vector<int> &targets, int seqLen)
      : model(model), tokens(tokens), targets(targets), count(int(tokens.size())),
        seqLen(seqLen), attention{model.heads, model.kvHeads, model.headDim(), seqLen} {}

  double forward();
  const Numbers &allLogits() const { return logits.data; }
  void backward(std::map<std::string, Numbers> &gradients);

private:
  const Numbers &w(const std::string &name) const { return model.weights.at(name); }
  static std::string name(int layer, const std::string &part) {
    return "model.layers." + std::to_string(layer) + "." + part + ".weight";
  }
  Rows rotated(const Rows &x, double direction) const {
    return rotate(x, model.headDim(), seqLen, model.theta, direction);
  }
  Rows layerForward(int i, Layer &l, const Rows &x);
  Rows layerBackward(int i, const Layer &l, const Rows &dy, std::map<std::string, Numbers> &g);

  const PlainLlama &model;
  const std::vector<int> &tokens, &targets;
  int count, seqLen;
  Attention attention;
  std::vector<Layer> layers;
  Rows last, normedLast, logits;
  int valid = 0;
};

Rows sum(const Rows &a, const Rows &b) {
  Rows c = a;
  for (size_t i = 0; i < c.data.size(); ++i)
    c.data[i] += b.data[i];
  return c;
}

Rows Pass::layerForward(int i, Layer &l, const Rows &x) {
  int kv = model.kvHeads * model.headDim();
  l.x = x;
  l.normed = normalize(x, w(name(i, "input_layernorm")), model.eps);
  l.q = rotated(multiply(l.normed, w(name(i, "self_attn.q_proj")), model.hidden), 1);
  l.k = rotated(multiply(l.normed, w(name(i, "self_attn.k_proj")), kv), 1);
  l.v = multiply(l.normed, w(name(i, "self_attn.v_proj")), kv);
  l.attended = attention.forward(l.q, l.k, l.v);
  l.middle = sum(x, multiply(l.attended, w(name(i, "self_attn.o_proj")), model.hidden));
  l.normedMiddle = normalize(l.middle, w(name(i, "post_attention_layernorm")), model.eps);
  l.gate = multiply(l.normedMiddle, w(name(i, "mlp.gate_proj")), model.ffn);
  l.up = multiply(l.normedMiddle, w(name(i, "mlp.up_proj")), model.ffn);
  l.activated = Rows(count, model.ffn);
  for (size_t j = 0; j < l.gate.data.size(); ++j)
    l.activated.data[j] = l.gate.data[j] * sigmoid(l.gate.data[j]) * l.up.data[j];
  return sum(l.middle, multiply(l.activated, w(name(i, "mlp.down_proj")), model.hidden));
}

Rows Pass::layerBackward(int i, const Layer &l, const Rows &dy, std::map<std::string, Numbers> &g) {
  auto linear = [&](const std::string &part, const Rows &x, const Rows &dout, Rows &dx) {
    multiplyGrad(x, w(name(i, part)), dout, dx, g[name(i, part)]);
  };
  Rows dactivated(count, model.ffn), dgate(count, model.ffn), dup(count, model.ffn);
  linear("mlp.down_proj", l.activated, dy, dactivated);
  for (size_t j = 0; j < dgate.data.size(); ++j) {
    double s = sigmoid(l.gate.data[j]), d = dactivated.data[j];
    dup.data[j] = d * l.gate.data[j] * s;
    dgate.data[j] = d * l.up.data[j] * s * (1 + l.gate.data[j] * (1 - s));
  }
  Rows dnormedMiddle(count, model.hidden), dmiddle = dy;
  linear("mlp.gate_proj", l.normedMiddle, dgate, dnormedMiddle);
  linear("mlp.up_proj", l.normedMiddle, dup, dnormedMiddle);
  normalizeGrad(l.middle, w(name(i, "post_attention_layernorm")), model.eps, dnormedMiddle, dmiddle,
                g[name(i, "post_attention_layernorm")]);

  int kv = model.kvHeads * model.headDim();
  Rows dattended(count, model.hidden), dq(count, model.hidden), dk(count, kv), dv(count, kv);
  linear("self_attn.o_proj", l.attended, dmiddle, dattended);
  attention.backward(l.q, l.k, l.v, dattended, dq, dk, dv);
  Rows dnormed(count, model.hidden), dx = dmiddle;
  linear("self_attn.q_proj", l.normed, rotated(dq, -1), dnormed);
  linear("self_attn.k_proj", l.normed, rotated(dk, -1), dnormed);
  linear("self_attn.v_proj", l.normed, dv, dnormed);
  normalizeGrad(l.x, w(name(i, "input_layernorm")), model.eps, dnormed, dx, g[name(i, "input_layernorm")]);
  return dx;
}

double Pass::forward() {
  Rows x(count, model.hidden);
  for (int t = 0; t < count; ++t)
    for (int f = 0; f < model.hidden; ++f)
      x.at(t, f) = w("model.embed_tokens.weight")[size_t(tokens[t]) * model.hidden + f];
  layers.resize(model.layers);
  for (int i = 0; i < model.layers; ++i)
    x = layerForward(i, layers[i], x);
  last = x;
  normedLast = normalize(x, w("model.norm.weight"), model.eps);
  logits = multiply(normedLast, w(model.head()), model.vocab);

  double total = 0;
  for (int t = 0; t < count; ++t) {
    if (targets[t] < 0)
      continue;
    double sum = 0;
    for (int v = 0; v < model.vocab; ++v)
      sum += std::exp(logits.at(t, v));
    total += std::log(sum) - logits.at(t, targets[t]);
    ++valid;
  }
  return total / valid;
}

void Pass::backward(std::map<std::string, Numbers> &g) {
  for (const auto &[name, values] : model.weights)
    g[name].resize(values.size());
  Rows dlogits(count, model.vocab);
  for (int t = 0; t < count; ++t) {
    if (targets[t] < 0)
      continue;
    double sum = 0;
    for (int v = 0; v < model.vocab; ++v)
      sum += std::exp(logits.at(t, v));
    for (int v = 0; v < model.vocab; ++v)
      dlogits.at(t, v) = (std::exp(logits.at(t, v)) / sum - (v == targets[t])) / valid;
  }
  Rows dnormed(count, model.hidden), dx(count, model.hidden);
  multiplyGrad(normedLast, w(model.head()), dlogits, dnormed, g[model.head()]);
  normalizeGrad(last, w("model.norm.weight"), model.eps, dnormed, dx, g["model.norm.weight"]);
  for (int i = model.layers - 1; i >= 0; --i)
    dx = layerBackward(i, layers[i], dx, g);
  for (int t = 0; t < count; ++t)
    for (int f = 0; f < model.hidden; ++f)
      g["model.embed_tokens.weight"][size_t(tokens[t]) * model.hidden + f] += dx.at(t, f);
}

} // namespace

std::map<std::string, std::vector<int>> PlainLlama::shapes() const {
  int kv = kvHeads * headDim();
  std::map<std::string, std::vector<int>> all{{"model.embed_tokens.weight", {vocab, hidden}},
                                              {"model.norm.weight", {hidden}}};
  if (!tied)
    all["lm_head.weight"] = {vocab, hidden};
  for (int i = 0; i < layers; ++i) {
    std::string layer = "model.layers." + std::to_string(i) + ".";
    all[layer + "input_layernorm.weight"] = all[layer + "post_attention_layernorm.weight"] = {hidden};
    all[layer + "self_attn.q_proj.weight"] = all[layer + "self_attn.o_proj.weight"] = {hidden, hidden};
    all[layer + "self_attn.k_proj.weight"] = all[layer + "self_attn.v_proj.weight"] = {kv, hidden};
    all[layer + "mlp.gate_proj.weight"] = all[layer + "mlp.up_proj.weight"] = {ffn, hidden};
    all[layer + "mlp.down_proj.weight"] = {hidden, ffn};
  }
  return all;
}

double PlainLlama::loss(const std::vector<int> &tokens, const std::vector<int> &targets, int seqLen,
                        std::map<std::string, Numbers> *gradients) const {
  Pass pass(*this, tokens, targets, seqLen);
  double value = pass.forward();
  if (gradients)
    pass.backward(*gradients);
  return value;
}

Numbers PlainLlama::logits(const std::vector<int> &tokens) const {
  std::vector<int> targets(tokens.size(), 0);
  Pass pass(*this, tokens, targets, int(tokens.size()));
  pass.forward();
  return pass.allLogits();
}
