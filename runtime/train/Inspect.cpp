//===- Inspect.cpp - what is in a checkpoint or a program -----------------===//

#include "runtime/train/Inspect.h"

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/train/Plan.h"
#include "runtime/train/Progress.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace smet::rt {

std::string inspectProgram(const Manifest &manifest) {
  std::string text = fmt::format("program: {} for {} ({}), entry points {}\n\n", manifest.kind, manifest.target,
                                 manifest.cpu, fmt::join(manifest.entryPoints, ", "));
  text += planText(manifest) + "\n";
  for (const SparseLayer &l : manifest.layers)
    text += fmt::format("  {:<45} {:>5} x {:<5} block {}x{}  {:>7} of {:>7} blocks ({:.2f} %)\n", l.name, l.rows,
                        l.cols, l.blockRows, l.blockCols, l.nnz, l.blocks(),
                        100.0 * static_cast<double>(l.nnz) / static_cast<double>(l.blocks()));
  return text;
}

/// The values of a tensor of unsigned 16- or 32-bit integers.
static std::vector<int64_t> integers(const SafetensorsEntry &entry) {
  auto width = static_cast<size_t>(safetensorsWidth(entry.dtype));
  std::vector<int64_t> values(entry.bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t value = 0; // little endian, as the file
    std::memcpy(&value, entry.bytes.data() + i * width, std::min<size_t>(width, 4));
    values[i] = value;
  }
  return values;
}

/// How many values lie in each range of powers of ten: 0-9, 10-99, ..., drawn as bars.
static std::string ageHistogram(const SafetensorsFile &file, bool unicode) {
  std::array<int64_t, 5> counts = {};
  int64_t total = 0;
  for (const SafetensorsEntry &entry : file.tensors())
    if (entry.name.ends_with(".age"))
      for (int64_t age : integers(entry)) {
        size_t bin = age < 10 ? 0 : age < 100 ? 1 : age < 1000 ? 2 : age < 10000 ? 3 : 4;
        ++counts[bin];
        ++total;
      }
  if (!total)
    return "";
  static constexpr std::string_view names[] = {"0 - 9", "10 - 99", "100 - 999", "1,000 - 9,999", "10,000 and more"};
  std::string text = "\nage of the active blocks, in optimizer steps\n";
  for (size_t i = 0; i < counts.size(); ++i) {
    double share = static_cast<double>(counts[i]) / static_cast<double>(total);
    std::string bar;
    for (int j = 0; j < static_cast<int>(share * 40 + 0.5); ++j)
      bar += unicode ? "█" : "#";
    text += fmt::format("  {:<16} {:>9} {:>6.1f} % {}\n", names[i], counts[i], 100 * share, bar);
  }
  return text;
}

/// A layer's blocks per row as one line of shades: each character is a strip of block rows, darker for more blocks.
static std::string rowShades(const std::vector<int64_t> &positions, bool unicode) {
  static constexpr std::string_view blocks[] = {" ", "░", "▒", "▓", "█"}, ascii[] = {" ", ".", ":", "+", "#"};
  auto rows = static_cast<int64_t>(positions.size()) - 1;
  int64_t strips = std::min<int64_t>(rows, 32);
  std::vector<double> filled;
  for (int64_t s = 0; s < strips; ++s) {
    int64_t begin = rows * s / strips, end = rows * (s + 1) / strips;
    filled.push_back(static_cast<double>(positions[end] - positions[begin]) / static_cast<double>(end - begin));
  }
  double most = filled.empty() ? 0 : std::ranges::max(filled);
  std::string text;
  for (double value : filled) {
    int shade = most > 0 ? static_cast<int>(value / most * 4 + 0.5) : 0;
    text += unicode ? blocks[shade] : ascii[shade];
  }
  return text;
}

static std::string layerLine(const nlohmann::json &layer, const SafetensorsFile &file, bool unicode) {
  std::string name = layer.value("name", "");
  const SafetensorsEntry *positions = file.find(name + ".topology.positions");
  auto block = layer.value("block", std::vector<int64_t>{1, 1});
  int64_t rows = layer.value("rows", int64_t(0)), cols = layer.value("cols", int64_t(0));
  double all = static_cast<double>(rows / block[0]) * static_cast<double>(cols / block[1]);
  auto nnz = layer.value("nnz", int64_t(0));
  return fmt::format("  {:<42} {:>5} x {:<5} {:>8} blocks {:>6.2f} %  |{}|\n", name, rows, cols, nnz,
                     100.0 * static_cast<double>(nnz) / std::max(all, 1.0),
                     positions ? rowShades(integers(*positions), unicode) : "");
}

Expected<std::string> inspectCheckpoint(const Checkpoint &checkpoint, bool unicode) {
  auto file = SafetensorsFile::open(checkpoint.path / "model.safetensors");
  if (!file)
    return std::unexpected(file.error());
  const TrainState &state = checkpoint.state;
  const nlohmann::json program = state.config.value("program", nlohmann::json::object());
  std::string text =
      fmt::format("checkpoint {}: step {}, {} sequences read, seed {}, method {}\n", checkpoint.path.string(),
                  state.step, state.sequences, state.seed, program.value("method", "?"));
  struct Sum {
    double weights = 0, optimizer = 0, metadata = 0;
  } sum;
  for (const SafetensorsEntry &entry : file->tensors()) {
    bool moment = entry.name.ends_with(".m") || entry.name.ends_with(".v");
    bool weight = entry.name.ends_with(".weight");
    (weight ? sum.weights : moment ? sum.optimizer : sum.metadata) += static_cast<double>(entry.bytes.size());
  }
  text += fmt::format("  weights {} ({} active parameters), optimizer state {}, metadata {}\n", bytesText(sum.weights),
                      countText(sum.weights / 4), bytesText(sum.optimizer), bytesText(sum.metadata));
  const nlohmann::json layers = state.config.value("layers", nlohmann::json::array());
  if (!layers.empty())
    text += fmt::format("\n{} sparse layers; shades: active blocks over the rows\n", layers.size());
  for (const nlohmann::json &layer : layers)
    text += layerLine(layer, *file, unicode);
  return text + ageHistogram(*file, unicode);
}

} // namespace smet::rt
