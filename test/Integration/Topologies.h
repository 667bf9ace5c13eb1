//===- Topologies.h - topologies of checkpoints ------------------*- C++ -*-===//
#ifndef SMET_TEST_INTEGRATION_TOPOLOGIES_H
#define SMET_TEST_INTEGRATION_TOPOLOGIES_H

#include "runtime/checkpoint/Safetensors.h"
#include "test/unit/runtime/TestData.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace smet::test {

using Topologies = std::map<std::string, std::set<int64_t>>;

/// The linear indices of the active blocks of every sparse layer, from a checkpoint's files alone.
inline Topologies topology(const std::filesystem::path &checkpoint) {
  auto file = rt::SafetensorsFile::open(checkpoint / "model.safetensors");
  EXPECT_TRUE(file) << messageOf(file);
  Topologies layers;
  for (const rt::SafetensorsEntry &entry : file->tensors()) {
    size_t suffix = entry.name.find(".topology.positions");
    if (suffix == std::string::npos)
      continue;
    std::string name = entry.name.substr(0, suffix);
    const rt::SafetensorsEntry *columns = file->find(name + ".topology.coordinates");
    EXPECT_EQ(columns->dtype, "I16");
    auto *positions = reinterpret_cast<const int32_t *>(entry.bytes.data());
    auto *coordinates = reinterpret_cast<const uint16_t *>(columns->bytes.data());
    for (int64_t row = 0; row + 1 < entry.shape[0]; ++row)
      for (int32_t slot = positions[row]; slot < positions[row + 1]; ++slot)
        layers[name].insert(row * 65536 + coordinates[slot]);
  }
  return layers;
}

/// Blocks that are active in both.
inline int64_t common(const Topologies &a, const Topologies &b) {
  int64_t count = 0;
  for (auto &[name, blocks] : a)
    for (int64_t block : blocks)
      count += b.at(name).contains(block);
  return count;
}

} // namespace smet::test

#endif // SMET_TEST_INTEGRATION_TOPOLOGIES_H
