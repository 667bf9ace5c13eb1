//===- KernelHarness.cpp - compile, run and compare kernels ---------------===//
#include "KernelHarness.h"

#include <unistd.h>

#include <filesystem>

using namespace smet;
using namespace smet::test;

Kernel::Kernel(const std::string &text, Target target, int threads, const std::string &cpu) {
  static int count = 0;
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("smet-kernel-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".smet");
  if (std::string errors = compileText(text, /*modelLevel=*/false, target, path, cpu); !errors.empty()) {
    ADD_FAILURE() << errors << "\n" << text;
    return;
  }
  pool = std::move(*rt::ThreadPool::create(threads));
  auto loaded = rt::Instance::load(path, *pool);
  std::filesystem::remove(path);
  if (!loaded)
    ADD_FAILURE() << loaded.error().message;
  else
    instance = std::move(*loaded);
  checked = target == Target::GPUChecked;
}

bool Kernel::run(const std::string &entry) {
  if (!instance)
    return false;
  auto runOnce = [&] {
    auto outcome = instance->run(entry);
    if (!outcome)
      ADD_FAILURE() << outcome.error().message;
    return outcome && *outcome == rt::Outcome::Ok;
  };
  if (!checked)
    return runOnce();
  // Threads in orders drawn at random, copies at any time: checks in one, the same bits in others.
  std::span<char> arena(instance->arena().base(), manifest().arenaBytes);
  std::vector<char> before(arena.begin(), arena.end()), after;
  for (uint64_t seed : {1, 2, 3}) {
    std::ranges::copy(before, arena.begin());
    instance->emulator().options = {.check = seed == 1, .seed = seed};
    if (!runOnce())
      return false;
    if (after.empty())
      after.assign(arena.begin(), arena.end());
    EXPECT_TRUE(std::ranges::equal(arena, after)) << "the order of threads with seed " << seed << " changes results";
  }
  return true;
}

std::string Kernel::error(const std::string &entry) {
  if (!instance)
    return "";
  auto outcome = instance->run(entry);
  if (outcome)
    ADD_FAILURE() << "ran though it should have failed";
  return outcome ? "" : outcome.error().message;
}

rt::KernelCounters Kernel::counters(const std::string &part) const {
  rt::KernelCounters sum;
  for (const auto &[name, counters] : instance->emulator().counters())
    if (name.find(part) != std::string::npos)
      sum += counters;
  return sum;
}

std::string test::nameOf(const testing::TestParamInfo<Target> &info) {
  switch (info.param) {
  case Target::Reference:
    return "reference";
  case Target::CPU:
    return "cpu";
  case Target::GPU:
    return "gpu";
  case Target::GPUChecked:
    return "checked";
  }
  return "";
}

static std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string test::entry(const std::string &op, const std::vector<Operand> &inputs, const std::vector<Operand> &inits,
                        const std::string &attributes) {
  std::vector<std::string> arguments, results, types, names;
  auto declare = [&](const Operand &operand, bool writable) {
    arguments.push_back("%" + operand.name + ": " + operand.type + " {smet.name = \"" + operand.name +
                        "\", smet.role = \"" + operand.role +
                        "\", bufferization.writable = " + (writable ? "true" : "false") + "}");
  };
  auto group = [&](const std::vector<Operand> &operands) {
    std::vector<std::string> values, valueTypes;
    for (const Operand &operand : operands) {
      values.push_back("%" + operand.name);
      valueTypes.push_back(operand.type);
    }
    return "(" + join(values) + " : " + join(valueTypes) + ")";
  };
  for (const Operand &operand : inputs)
    declare(operand, false);
  for (const Operand &operand : inits) {
    declare(operand, true);
    results.push_back(operand.type + " {smet.name = \"" + operand.name + "\"}");
    types.push_back(operand.type);
    names.push_back("%r#" + std::to_string(names.size()));
  }
  return "func.func @main(" + join(arguments) + ") -> (" + join(results) + ") {\n  %r:" + std::to_string(inits.size()) +
         " = " + op + (inputs.empty() ? "" : " ins" + group(inputs)) + " outs" + group(inits) + " " + attributes +
         " -> " + join(types) + "\n  return " + join(names) + " : " + join(types) + "\n}\n";
}

std::string test::tensorType(const std::vector<int64_t> &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

Topology Topology::random(int64_t rows, int64_t cols, int64_t blockRows, int64_t blockCols, double density,
                          std::mt19937 &rng, int64_t emptyRow, int64_t fullRow) {
  std::bernoulli_distribution active(density);
  std::vector<bool> mask;
  for (int64_t i = 0; i < rows / blockRows; ++i)
    for (int64_t j = 0; j < cols / blockCols; ++j)
      mask.push_back(i != emptyRow && (i == fullRow || active(rng)));
  return ofMask(rows, cols, blockRows, blockCols, mask);
}

Topology Topology::ofMask(int64_t rows, int64_t cols, int64_t blockRows, int64_t blockCols,
                          const std::vector<bool> &mask) {
  Topology t{rows, cols, blockRows, blockCols, {0}, {}, {}, {}, {}};
  int64_t rowBlocks = rows / blockRows, colBlocks = cols / blockCols;
  for (int64_t i = 0; i < rowBlocks; ++i) {
    for (int64_t j = 0; j < colBlocks; ++j)
      if (mask[i * colBlocks + j])
        t.coordinates.push_back(j);
    t.positions.push_back(t.coordinates.size());
  }
  std::vector<std::vector<int32_t>> slotsOf(colBlocks);
  for (int64_t slot = 0; slot < t.nnz(); ++slot)
    slotsOf[t.coordinates[slot]].push_back(slot);
  t.tPositions.push_back(0);
  for (const std::vector<int32_t> &slots : slotsOf) {
    for (int32_t slot : slots) {
      t.tCoordinates.push_back(t.block(slot).first);
      t.tPerm.push_back(slot);
    }
    t.tPositions.push_back(t.tPerm.size());
  }
  return t;
}

std::pair<int64_t, int64_t> Topology::block(int64_t slot) const {
  auto end = std::upper_bound(positions.begin(), positions.end(), slot);
  return {end - positions.begin() - 1, coordinates[slot]};
}

std::string Topology::type() const {
  return "!smet.topology<" + std::to_string(rows) + "x" + std::to_string(cols) + ", block = [" +
         std::to_string(blockRows) + ", " + std::to_string(blockCols) + "], nnz = " + std::to_string(nnz()) + ">";
}

void Topology::fill(Kernel &kernel, const std::string &name) const {
  auto narrow = [&](const std::string &array, const std::vector<int32_t> &values, int64_t blocks) {
    if (blocks <= 65536)
      kernel.set(name + "." + array, std::vector<uint16_t>(values.begin(), values.end()));
    else
      kernel.set(name + "." + array, values);
  };
  kernel.set(name + ".positions", positions);
  narrow("coordinates", coordinates, cols / blockCols);
  kernel.set(name + ".t_positions", tPositions);
  narrow("t_coordinates", tCoordinates, rows / blockRows);
  kernel.set(name + ".t_perm", tPerm);
}
