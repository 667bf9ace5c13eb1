//===- Trainer.h - the training loop ----------------------------*- C++ -*-===//
//
// Drives a training program: one train_step a step, update_topology after it at its interval, evaluation, checkpoints
// and metrics. It only writes inputs (batch, step, learning rate, ...) and runs entry points; what a step computes is
// compiled. A run is a folder: config.toml, metrics.jsonl and step-<N>/ checkpoints.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_TRAIN_TRAINER_H
#define SMET_RUNTIME_TRAIN_TRAINER_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/train/Evaluation.h"
#include "runtime/train/Options.h"
#include "runtime/train/Progress.h"

#include <filesystem>
#include <optional>

namespace smet::rt {

/// What a run works with; everything must outlive the call of train().
struct TrainInputs {
  Instance &instance;
  const TokenShard &shard;
  const Tokenizer &tokenizer;
  const TrainOptions &options;
  Progress &progress;
};

enum class Ending {
  Finished,      ///< all steps of the schedule are done
  StoppedAfter,  ///< --stop-after
  Interrupted,   ///< by a signal (Interrupt), saved
  LossNotFinite, ///< nothing of the last step was applied or saved
};

struct TrainResult {
  Ending ending = Ending::Finished;
  int64_t step = 0;                 ///< steps done
  int signal = 0;                   ///< when Interrupted
  std::filesystem::path checkpoint; ///< the last good one; may be empty when the loss was not finite
};

/// Trains, or continues, to the end of the schedule; an Interrupt that the caller holds ends it earlier. Errors: the
/// run's folder holds another run, or this one and
/// --resume is not given; the checkpoint is of another run; a file cannot be written; a routine failed.
Expected<TrainResult> train(const TrainInputs &inputs);

/// The newest checkpoint of `folder`, a run or one of its step-<N> folders; nothing when there is none.
Expected<std::optional<Checkpoint>> locateCheckpoint(const std::filesystem::path &folder);

/// Fills a program's tensors from a checkpoint, as loadTensors does, wherever they are.
Status loadInto(Instance &instance, const Checkpoint &checkpoint, bool complete);

} // namespace smet::rt

#endif // SMET_RUNTIME_TRAIN_TRAINER_H
