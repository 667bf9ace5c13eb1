//===- Instance.h - a program that can run ----------------------*- C++ -*-===//
//
// Ties a program to its arena and to the runtime's services on the CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_INSTANCE_H
#define SMET_RUNTIME_PROGRAM_INSTANCE_H

#include "runtime/cpu/Context.h"
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
  /// Loads the program at `path`, unless this machine cannot run it; `pool` must outlive the instance.
  static Expected<std::unique_ptr<Instance>> load(const std::filesystem::path &path, ThreadPool &pool);

  /// Runs an entry point to its end; its calls' times are added to `profile`, if given, which is that entry point's.
  Expected<Outcome> run(std::string_view entry, Profile *profile = nullptr);

  /// What runs from now on uses this pool, which must outlive the instance; the one so far.
  ThreadPool &exchangePool(ThreadPool &pool) { return context->exchangePool(pool); }

  /// Where GPU kernels of a program for the target gpu-emulator run.
  EmulatedDevice &emulator() { return device; }

  const Manifest &manifest() const { return program.manifest(); }
  Arena &arena() { return theArena; }

private:
  Instance(Program program, Arena arena, std::unique_ptr<Context> context)
      : program(std::move(program)), theArena(std::move(arena)), context(std::move(context)) {
    this->context->setDevice(&device);
  }

  Program program;
  Arena theArena;
  EmulatedDevice device;
  std::unique_ptr<Context> context;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_INSTANCE_H
