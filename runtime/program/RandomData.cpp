//===- RandomData.cpp - contents for products on their own ----------------===//
#include "runtime/program/RandomData.h"

namespace smet::rt {

static constexpr int64_t seed = 1;

void drawTopology(Instance &instance, ThreadPool &pool, const std::string &name, const BlockGrid &grid, int64_t nnz,
                  int64_t layer) {
  auto array = [&](const char *suffix) -> void * {
    const TensorInfo *info = instance.manifest().find(name + "." + suffix);
    return instance.arena().bytes(*info).data();
  };
  Topology topology{
      {grid, nnz, static_cast<int32_t *>(array("positions")), Coordinates(array("coordinates"), grid.colBlocks())},
      static_cast<int32_t *>(array("t_positions")),
      Coordinates(array("t_coordinates"), grid.rowBlocks()),
      static_cast<int32_t *>(array("t_perm"))};
  initTopology(pool, topology, seed, layer);
}

void drawTensors(Instance &instance, ThreadPool &pool) {
  for (const TensorInfo &info : instance.manifest().tensors) {
    if (info.role == Role::Workspace)
      continue;
    auto draw = [&]<typename T>(T *values) {
      initNormalDense(pool, seed, info.offset, 0.02, std::span(values, size_t(info.bytes) / sizeof(T)));
    };
    std::byte *bytes = instance.arena().bytes(info).data();
    if (info.dtype == DType::F32)
      draw(reinterpret_cast<float *>(bytes));
    if (info.dtype == DType::BF16)
      draw(reinterpret_cast<BF16 *>(bytes));
  }
}

} // namespace smet::rt
