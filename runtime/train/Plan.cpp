//===- Plan.cpp - what a program will cost --------------------------------===//

#include "runtime/train/Plan.h"

#include "runtime/program/Arena.h"
#include "runtime/train/Progress.h"

#include <map>

namespace smet::rt {

static constexpr std::string_view kEmbedding = "model.embed_tokens.weight";

static int64_t elements(const TensorInfo &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.shape)
    count *= size;
  return count;
}

ModelCounts countModel(const Manifest &manifest) {
  std::map<std::string_view, const SparseLayer *> sparse;
  for (const SparseLayer &layer : manifest.layers)
    sparse[layer.name] = &layer;
  bool tied = !manifest.find("lm_head.weight");
  ModelCounts counts;
  for (const TensorInfo &tensor : manifest.tensors) {
    if (tensor.role != Role::Param)
      continue;
    auto found = sparse.find(tensor.name);
    int64_t active = elements(tensor);
    int64_t all = found == sparse.end() ? active : found->second->rows * found->second->cols;
    counts.parameters += all;
    counts.active += active;
    if (found != sparse.end()) {
      counts.sparseParameters += all;
      counts.activeSparse += active;
    }
    if (tensor.shape.size() >= 2 && (tensor.name != kEmbedding || tied)) {
      counts.multiplied += all;
      counts.activeMultiplied += active;
    }
  }
  return counts;
}

StepFlops stepFlops(const Manifest &manifest) {
  ModelCounts counts = countModel(manifest);
  const nlohmann::json &config = manifest.config;
  double sequences = config.value("batch", 0.0), length = config.value("seq_len", 0.0);
  const nlohmann::json model = config.value("model", nlohmann::json::object());
  double attention = 6.0 * length * length * model.value("hidden_size", 0.0) * model.value("num_hidden_layers", 0.0);
  auto total = [&](int64_t weights) { return sequences * (6.0 * length * static_cast<double>(weights) + attention); };
  return {total(counts.activeMultiplied), total(counts.multiplied)};
}

std::string memoryTable(const Manifest &manifest) {
  MemoryReport m = memoryReport(manifest);
  int64_t n = countModel(manifest).parameters;
  bool trains = manifest.kind == "train";
  int64_t rest = m.activations + m.io + m.padding;
  struct Row {
    std::string_view name;
    int64_t sparse, dense;
  };
  std::vector<Row> rows = {{"weights", m.weights, 4 * n},
                           {"gradients", m.gradients, trains ? 4 * n : 0},
                           {"optimizer state", m.optimizer, trains ? 8 * n : 0},
                           {"metadata", m.metadata, 0}};
  if (m.cache)
    rows.push_back({"KV cache", m.cache, m.cache});
  rows.push_back({"activations", rest, rest});
  int64_t dense = 0;
  for (const Row &row : rows)
    dense += row.dense;
  rows.push_back({"total", m.total, dense});

  std::string density = manifest.layers.empty() ? "this program" : "sparse";
  std::string text = fmt::format("  {:<16} {:>12} {:>12} {:>8}\n", "memory", density, "dense", "ratio");
  for (const Row &row : rows)
    text += fmt::format(
        "  {:<16} {:>12} {:>12} {:>8}\n", row.name, bytesText(static_cast<double>(row.sparse)),
        bytesText(static_cast<double>(row.dense)),
        row.dense ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(row.sparse) / static_cast<double>(row.dense))
                  : "");
  return text;
}

std::string planText(const Manifest &manifest) {
  ModelCounts counts = countModel(manifest);
  auto count = [](int64_t n) { return countText(static_cast<double>(n)); };
  std::string text = fmt::format("  {:<16} {:>12}  ({})\n", "parameters", count(counts.parameters), counts.parameters) +
                     fmt::format("  {:<16} {:>12}  ({})\n", "active", count(counts.active), counts.active);
  if (!manifest.layers.empty())
    text +=
        fmt::format("  {:<16} {:>12}  {} of {} weights ({:.2f} %)\n", "sparse layers", manifest.layers.size(),
                    count(counts.activeSparse), count(counts.sparseParameters),
                    100.0 * static_cast<double>(counts.activeSparse) / static_cast<double>(counts.sparseParameters));
  if (manifest.kind == "train") {
    StepFlops flops = stepFlops(manifest);
    text += fmt::format("  {:<16} {:>12}  dense {} ({:.1f} %)\n", "FLOPs a step", countText(flops.sparse),
                        countText(flops.dense), 100.0 * flops.sparse / flops.dense);
  }
  return text + "\n" + memoryTable(manifest);
}

} // namespace smet::rt
