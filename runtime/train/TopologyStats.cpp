//===- TopologyStats.cpp - which blocks are active, compared --------------===//

#include "runtime/train/TopologyStats.h"

#include <algorithm>

namespace smet::rt {

/// Column of the block in `slot`; coordinates are i16 (unsigned) or i32.
static Expected<std::vector<int32_t>> blockColumns(const Manifest &manifest, const Arena &arena,
                                                   const std::string &name) {
  std::vector<int32_t> columns;
  const TensorInfo *info = manifest.find(name);
  if (info && info->dtype == DType::I16) {
    auto narrow = *arena.tensor<uint16_t>(name);
    columns.assign(narrow.begin(), narrow.end());
    return columns;
  }
  auto wide = arena.tensor<int32_t>(name);
  if (!wide)
    return std::unexpected(wide.error());
  columns.assign(wide->begin(), wide->end());
  return columns;
}

static Expected<std::vector<int32_t>> layerBlocks(const Manifest &manifest, const Arena &arena,
                                                  const SparseLayer &layer) {
  auto positions = arena.tensor<int32_t>(layer.name + ".topology.positions");
  if (!positions)
    return std::unexpected(positions.error());
  auto columns = blockColumns(manifest, arena, layer.name + ".topology.coordinates");
  if (!columns)
    return columns;
  auto perRow = static_cast<int32_t>(layer.cols / layer.blockCols);
  std::vector<int32_t> blocks;
  for (size_t row = 0; row + 1 < positions->size(); ++row)
    for (int32_t slot = (*positions)[row]; slot < (*positions)[row + 1]; ++slot)
      blocks.push_back(static_cast<int32_t>(row) * perRow + (*columns)[slot]);
  return blocks;
}

Expected<ActiveBlocks> activeBlocks(Instance &instance) {
  const Manifest &manifest = instance.manifest();
  std::vector<const TensorInfo *> arrays;
  for (const TensorInfo &tensor : manifest.tensors)
    if (tensor.name.ends_with(".topology.positions") || tensor.name.ends_with(".topology.coordinates"))
      arrays.push_back(&tensor);
  if (Status copied = instance.toHost(arrays); !copied)
    return std::unexpected(copied.error());
  ActiveBlocks all;
  for (const SparseLayer &layer : manifest.layers) {
    auto blocks = layerBlocks(manifest, instance.arena(), layer);
    if (!blocks)
      return std::unexpected(blocks.error());
    all.push_back(std::move(*blocks));
  }
  return all;
}

int64_t countBlocks(const ActiveBlocks &blocks) {
  int64_t count = 0;
  for (const auto &layer : blocks)
    count += static_cast<int64_t>(layer.size());
  return count;
}

int64_t countCommon(const ActiveBlocks &a, const ActiveBlocks &b) {
  int64_t common = 0;
  for (size_t layer = 0; layer < a.size(); ++layer)
    for (auto x = a[layer].begin(), y = b[layer].begin(); x != a[layer].end() && y != b[layer].end();) {
      common += *x == *y;
      int32_t least = std::min(*x, *y);
      x += *x == least;
      y += *y == least;
    }
  return common;
}

} // namespace smet::rt
