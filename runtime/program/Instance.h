//===- Instance.h - a program that can run ----------------------*- C++ -*-===//
//
// Ties a program to its arena, to the runtime's services on the CPU and to the device that runs its GPU kernels.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_INSTANCE_H
#define SMET_RUNTIME_PROGRAM_INSTANCE_H

#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/program/Arena.h"
#include "runtime/program/Profile.h"
#include "runtime/program/Program.h"

namespace smet::rt {

/// How an entry point ended, when it did not fail.
enum class Outcome {
  Ok,
  LossNotFinite, ///< the loss is NaN or infinite; nothing that the optimizer owns has been written
};

class Instance {
public:
  /// Loads the program at `path`, unless this machine cannot run it; `pool` must outlive the instance. A program for
  /// the target cuda runs on the first GPU.
  static Expected<std::unique_ptr<Instance>> load(const std::filesystem::path &path, ThreadPool &pool);

  /// Runs an entry point to its end; its calls' times are added to `profile`, if given, which is that entry point's.
  Expected<Outcome> run(std::string_view entry, Profile *profile = nullptr);

  /// What runs from now on uses this pool, which must outlive the instance; the one so far.
  ThreadPool &exchangePool(ThreadPool &pool) { return context->exchangePool(pool); }

  /// Where GPU kernels of a program for the target gpu-emulator run.
  EmulatedDevice &emulator() { return theEmulator; }

  const Manifest &manifest() const { return program.manifest(); }

  /// The program's tensors. Of a program for the target cuda, which has them on the card, an image on the host: its
  /// inputs are what the next run reads and its outputs what the last one wrote, others as they were copied last.
  Arena &arena() { return theArena; }
  /// Copies tensors of the manifest from the card into the arena here, and back; nothing to do for other targets.
  Status toHost(std::span<const TensorInfo *const> tensors);
  Status toDevice(std::span<const TensorInfo *const> tensors);

private:
  Instance(Program program, Arena arena, std::unique_ptr<Context> context, std::unique_ptr<Device> gpu)
      : program(std::move(program)), theArena(std::move(arena)), context(std::move(context)), gpu(std::move(gpu)) {
    this->context->setDevice(&device(), theArena.base());
  }
  Device &device() { return gpu ? *gpu : theEmulator; }

  Program program;
  Arena theArena;
  EmulatedDevice theEmulator;
  std::unique_ptr<Context> context;
  std::unique_ptr<Device> gpu; ///< null: kernels, if there are any, run on the emulator
};

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_INSTANCE_H
