//===- Checkpoint.cpp -----------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/support/File.h"
#include "runtime/support/Hash.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <stdio.h>

namespace smet::rt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char *tensorFile = "model.safetensors";
constexpr const char *stateFile = "state.json";
constexpr std::string_view stepPrefix = "step-";

std::string stepName(int64_t step) { return fmt::format("{}{:08}", stepPrefix, step); }

/// The step of a checkpoint's folder name.
std::optional<int64_t> parseStepName(std::string_view name) {
  if (!name.starts_with(stepPrefix))
    return std::nullopt;
  name.remove_prefix(stepPrefix.size());
  int64_t step = 0;
  auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (code != std::errc() || end != name.data() + name.size())
    return std::nullopt;
  return step;
}

/// The steps of a folder's checkpoints, newest first.
Expected<std::vector<int64_t>> listSteps(const fs::path &folder) {
  std::vector<int64_t> steps;
  std::error_code code;
  fs::directory_iterator entries(folder, code);
  if (code == std::errc::no_such_file_or_directory)
    return steps;
  if (code)
    return fail("cannot read the checkpoint folder '{}': {}", folder.string(), code.message());
  for (const fs::directory_entry &entry : entries)
    if (auto step = parseStepName(entry.path().filename().string()); step && entry.is_directory(code))
      steps.push_back(*step);
  std::ranges::sort(steps, std::greater());
  return steps;
}

std::string safetensorsName(DType dtype) {
  std::string text(name(dtype)); // f32 -> F32
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  return text;
}

json toJson(const TrainState &state, const std::string &tensorHash) {
  return {{"version", 1},
          {"step", state.step},
          {"sequences", state.sequences},
          {"seed", state.seed},
          {"model_sha256", state.modelHash},
          {"tokenizer_sha256", state.tokenizerHash},
          {"tensors_sha256", tensorHash},
          {"config", state.config},
          {"progress", state.progress}};
}

std::string dump(const json &value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Reads state.json; the hash that the tensor file must have goes to `tensorHash`.
Expected<TrainState> readState(const fs::path &path, std::string &tensorHash) {
  auto text = readFile(path);
  if (!text)
    return std::unexpected(text.error());
  json file = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("state") || !file.contains("sha256") ||
      file["sha256"] != sha256(dump(file["state"])))
    return fail("'{}' is damaged", path.string());
  try {
    const json &state = file["state"];
    if (state.at("version") != 1)
      return fail("'{}' was written by another version of smet", path.string());
    tensorHash = state.at("tensors_sha256");
    return TrainState{state.at("step"),         state.at("sequences"),        state.at("seed"),
                      state.at("model_sha256"), state.at("tokenizer_sha256"), state.at("config"),
                      state.at("progress")};
  } catch (const json::exception &) { // a field is missing or of another type
    return fail("'{}' is no state of smet", path.string());
  }
}

std::string hashOf(const MappedFile &file) {
  Sha256 hash;
  file.walk(file.bytes(), [&](std::span<const std::byte> part) { hash.update(part); });
  return hash.finish();
}

/// Writes both files of a checkpoint into the new folder `path`.
Status writeFiles(const fs::path &path, const TrainState &state, std::span<const TensorView> tensors) {
  std::error_code code;
  fs::remove_all(path, code); // what an interrupted run left
  fs::create_directories(path, code);
  if (code)
    return fail("cannot create the checkpoint folder '{}': {}", path.string(), code.message());
  std::vector<SafetensorsEntry> entries;
  for (const TensorView &tensor : tensors)
    entries.push_back({tensor.info->name, safetensorsName(tensor.info->dtype), tensor.info->shape, tensor.bytes});
  auto hash = writeSafetensors(path / tensorFile, std::move(entries), {{"step", std::to_string(state.step)}});
  if (!hash)
    return std::unexpected(hash.error());
  json body = toJson(state, *hash);
  std::string digest = sha256(dump(body));
  return writeFileAtomically(path / stateFile, dump({{"state", std::move(body)}, {"sha256", digest}}) + "\n");
}

/// Renames the folder `from` to `to`; what was at `to` is then at `from`, or gone.
Status replaceFolder(const fs::path &from, const fs::path &to) {
  std::error_code code;
  if (fs::exists(to, code)) {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0)
      return {};
    fs::remove_all(to, code); // on file systems that cannot exchange
  }
  fs::rename(from, to, code);
  if (code)
    return fail("cannot rename '{}' to '{}': {}", from.string(), to.string(), code.message());
  return {};
}

/// Removes the checkpoints up to `step` but the last `keepLast` of them. A folder that cannot be removed only takes
/// space, so errors are ignored.
void prune(const fs::path &folder, int64_t step, int64_t keepLast) {
  auto steps = listSteps(folder);
  if (!steps)
    return;
  std::erase_if(*steps, [&](int64_t other) { return other > step; });
  std::error_code code;
  for (size_t i = std::max<int64_t>(keepLast, 1); i < steps->size(); ++i)
    fs::remove_all(folder / stepName((*steps)[i]), code);
}

} // namespace

std::vector<TensorView> checkpointTensors(const Manifest &manifest, char *arena) {
  std::vector<TensorView> views;
  for (const TensorInfo &info : manifest.tensors) {
    bool kept = info.role == Role::Param || info.role == Role::Topology ||
                (info.role == Role::State && manifest.kind == "train"); // an inference program's state is its KV cache
    if (kept)
      views.push_back({&info, {reinterpret_cast<std::byte *>(arena) + info.offset, size_t(info.bytes)}});
  }
  return views;
}

Expected<fs::path> saveCheckpoint(const fs::path &folder, const TrainState &state, std::span<const TensorView> tensors,
                                  int64_t keepLast) {
  fs::path path = folder / stepName(state.step), partial = folder / fmt::format(".{}.partial", stepName(state.step));
  Status done = writeFiles(partial, state, tensors);
  if (done)
    done = replaceFolder(partial, path);
  std::error_code code;
  fs::remove_all(partial, code);
  if (!done)
    return fail("cannot save the checkpoint of step {}: {}", state.step, done.error().message);
  syncFolder(folder);
  prune(folder, state.step, keepLast);
  return path;
}

Expected<Checkpoint> openCheckpoint(const fs::path &path) {
  std::string tensorHash;
  auto state = readState(path / stateFile, tensorHash);
  if (!state)
    return std::unexpected(state.error());
  auto file = MappedFile::open(path / tensorFile);
  if (!file)
    return std::unexpected(file.error());
  if (hashOf(*file) != tensorHash)
    return fail("'{}' is damaged: its checksum is wrong", (path / tensorFile).string());
  return Checkpoint{path, std::move(*state), {}};
}

Expected<std::optional<Checkpoint>> findCheckpoint(const fs::path &folder, int64_t before) {
  auto steps = listSteps(folder);
  if (!steps)
    return std::unexpected(steps.error());
  std::erase_if(*steps, [&](int64_t step) { return step >= before; });
  std::vector<std::string> warnings;
  for (int64_t step : *steps) {
    auto checkpoint = openCheckpoint(folder / stepName(step));
    if (checkpoint) {
      checkpoint->warnings = std::move(warnings);
      return std::move(*checkpoint);
    }
    warnings.push_back(fmt::format("the checkpoint of step {} cannot be used ({}); falling back to the previous one",
                                   step, checkpoint.error().message));
  }
  if (warnings.empty())
    return std::nullopt;
  return fail("no checkpoint in '{}' can be used: {}", folder.string(), fmt::join(warnings, "; "));
}

Expected<std::vector<int64_t>> abandonLater(const fs::path &folder, int64_t step) {
  auto steps = listSteps(folder);
  if (!steps)
    return steps;
  std::erase_if(*steps, [&](int64_t other) { return other <= step; });
  for (int64_t later : *steps) {
    fs::path from = folder / stepName(later);
    if (Status renamed = replaceFolder(from, folder / ("abandoned-" + stepName(later))); !renamed)
      return std::unexpected(renamed.error());
    std::error_code code;
    fs::remove_all(from, code); // abandoned before
  }
  return steps;
}

Status checkSameRun(const TrainState &saved, const TrainState &now) {
  std::vector<std::string> differences;
  if (saved.modelHash != now.modelHash)
    differences.push_back("another model");
  if (saved.tokenizerHash != now.tokenizerHash)
    differences.push_back("another tokenizer");
  if (saved.seed != now.seed)
    differences.push_back(fmt::format("another seed ({}, not {})", saved.seed, now.seed));
  if (differences.empty())
    return {};
  return fail("cannot resume from step {}: the checkpoint has {}; resume with what it was started with, or start a new "
              "run in another folder",
              saved.step, fmt::join(differences, " and "));
}

Status loadTensors(const Checkpoint &checkpoint, std::span<const TensorView> tensors, bool complete) {
  auto file = SafetensorsFile::open(checkpoint.path / tensorFile);
  if (!file)
    return std::unexpected(file.error());
  std::string where = checkpoint.path.string();
  std::vector<const SafetensorsEntry *> sources;
  for (const TensorView &tensor : tensors) {
    const SafetensorsEntry *entry = file->find(tensor.info->name);
    if (!entry)
      return fail("the checkpoint '{}' has no tensor '{}'; it is of another model", where, tensor.info->name);
    std::string dtype = safetensorsName(tensor.info->dtype);
    if (entry->dtype != dtype || entry->shape != tensor.info->shape)
      return fail("tensor '{}' of the checkpoint '{}' is {} [{}], the program has {} [{}]", entry->name, where,
                  entry->dtype, fmt::join(entry->shape, ", "), dtype, fmt::join(tensor.info->shape, ", "));
    sources.push_back(entry);
  }
  if (complete && file->tensors().size() != tensors.size())
    return fail("the checkpoint '{}' has {} tensors, the program {}; it is of another model", where,
                file->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::byte *to = tensors[i].bytes.data();
    file->mapped().walk(sources[i]->bytes,
                        [&](std::span<const std::byte> part) { to = std::ranges::copy(part, to).out; });
  }
  return {};
}

} // namespace smet::rt
