//===- Checkpoint.h - a run on disk: saved, found, loaded -------*- C++ -*-===//
//
// A run's folder holds its last checkpoints:
//
//   step-00001000/model.safetensors   every param, state and topology tensor of the manifest under its own name: a
//                                     sparse layer is its active values, moments, ages and positions, nothing dense
//   step-00001000/state.json          {"state": TrainState, "sha256": of the state's text}
//
// A checkpoint is written to a hidden folder, synced and renamed, so it is there as a whole or not at all. Random
// numbers are counter-based: seed and step are the whole state of the generators.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define SMET_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/program/Manifest.h"

#include <filesystem>
#include <optional>
#include <span>

namespace smet::rt {

/// What a checkpoint knows beside its tensors.
struct TrainState {
  int64_t step = 0;      ///< optimizer steps done
  int64_t sequences = 0; ///< data position: training sequences read
  uint64_t seed = 0;     ///< of initialization, topology and data order
  std::string modelHash; ///< of what the run trains; the trainer decides what belongs to it
  std::string tokenizerHash;
  nlohmann::json config;   ///< the effective configuration
  nlohmann::json progress; ///< what else the trainer wants back, for example the loss history
};

/// A tensor of a manifest and its bytes in the arena.
struct TensorView {
  const TensorInfo *info;
  std::span<std::byte> bytes;
};

/// The tensors of an arena that a checkpoint has: params, topology and, of a training program, its state.
std::vector<TensorView> checkpointTensors(const Manifest &manifest, char *arena);

/// Writes `folder`/step-<step>, then removes older checkpoints but the last `keepLast` (at least 1). Newer ones stay.
/// On an error (full disk, folder not writable) all earlier checkpoints are as they were. Returns the new path.
Expected<std::filesystem::path> saveCheckpoint(const std::filesystem::path &folder, const TrainState &state,
                                               std::span<const TensorView> tensors, int64_t keepLast);

/// A checkpoint whose checksums are right.
struct Checkpoint {
  std::filesystem::path path;
  TrainState state;
  std::vector<std::string> warnings; ///< for the user: newer checkpoints that were passed over, and why
};

/// The checkpoint `path`, a step-<step> folder. A damaged one is an error.
Expected<Checkpoint> openCheckpoint(const std::filesystem::path &path);

/// The newest good checkpoint of a run's folder that is older than step `before`; nothing if there is none at all. Only
/// damaged ones are an error.
Expected<std::optional<Checkpoint>> findCheckpoint(const std::filesystem::path &folder, int64_t before = INT64_MAX);

/// Renames the checkpoints of `folder` after `step` to abandoned-step-<N>, so that a run that went back to `step` is not
/// continued from them. Returns the steps.
Expected<std::vector<int64_t>> abandonLater(const std::filesystem::path &folder, int64_t step);

/// An error that says which of model, tokenizer and seed differ, if any does.
Status checkSameRun(const TrainState &saved, const TrainState &now);

/// Fills the tensors. Each must be in the checkpoint with the same dtype and shape; with `complete`, the checkpoint
/// must have no others (without, an inference program takes its part of a training checkpoint). Nothing is written
/// unless everything fits.
Status loadTensors(const Checkpoint &checkpoint, std::span<const TensorView> tensors, bool complete);

} // namespace smet::rt

#endif // SMET_RUNTIME_CHECKPOINT_CHECKPOINT_H
