//===- Context.h - the runtime's services to generated code -----*- C++ -*-===//
//
// The smet_context of the CPU target: Abi.h's function table over a thread pool, a GEMM provider and the routines.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CPU_CONTEXT_H
#define SMET_RUNTIME_CPU_CONTEXT_H

#include "runtime/cpu/Gemm.h"
#include "runtime/cpu/ThreadPool.h"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace smet::rt {

/// Listens to smet_context::trace.
class Trace {
public:
  virtual ~Trace() = default;
  /// The call of this index begins, and the one before it has ended; -1: nothing begins.
  virtual void mark(int64_t call) = 0;
};

/// Runs the GPU kernels of a program, and says where its arena is. Unless a device says otherwise the arena is host
/// memory, a launch ends when it is done, and there is nothing to wait for or to copy.
class Device {
public:
  virtual ~Device() = default;
  virtual Status launch(const smet_kernel &kernel, const smet_launch &launch, ThreadPool &pool) = 0;

  /// The arena that kernels work on, for the one on the host.
  virtual char *arena(char *host) { return host; }
  /// An entry point begins: its inputs are brought to the arena. `traced`: its calls will be timed one by one.
  virtual Status begin(std::string_view entry, bool traced) { return {}; }
  /// It has ended: waits for what it launched, and brings its outputs to the host.
  virtual Status end() { return {}; }
  /// Waits for what was launched.
  virtual Status finish() { return {}; }
  /// Copies from the arena once what was launched before is done.
  virtual Status read(void *host, const void *array, int64_t bytes);

  /// Copies the tensors at these offsets between the arena and the one on the host.
  virtual Status toHost(std::span<const int64_t> offsets) { return {}; }
  virtual Status toDevice(std::span<const int64_t> offsets) { return {}; }
};

/// Leaves a message in context.error.
void leaveMessage(smet_context &context, std::string_view message);

class Context {
public:
  /// `pool` must outlive the context.
  static Expected<std::unique_ptr<Context>> create(ThreadPool &pool);
  Context(const Context &) = delete;

  smet_context *abi() { return &table; }
  /// The context that a routine was called with.
  static Context &of(smet_context *context);

  ThreadPool &pool() { return *thePool; }
  /// Replaces the pool, between calls; returns the old one.
  ThreadPool &exchangePool(ThreadPool &pool) { return *std::exchange(thePool, &pool); }
  /// Who hears of the calls of entry points; null: nobody.
  void setTrace(Trace *trace);
  /// Who runs GPU kernels, of the program whose arena on the host is `arena`; null: nobody, they fail.
  void setDevice(Device *device, char *arena = nullptr) {
    theDevice = device;
    hostArena = arena;
  }
  /// Brings the arrays at these offsets to the host, for a routine; the arena there. `arena` is the program's.
  Expected<char *> toHost(char *arena, std::span<const int64_t> offsets);
  /// Brings them back.
  Status toDevice(std::span<const int64_t> offsets) { return theDevice ? theDevice->toDevice(offsets) : Status(); }
  /// Whether a kernel has failed since the last call of this.
  bool takeFailure() { return std::exchange(failed, false); }
  /// The last message that a routine or a kernel left.
  std::string_view message() const { return error.data(); }

private:
  Context(ThreadPool &pool, Sgemm sgemm);
  void launch(const smet_kernel &kernel, const smet_launch &launch);
  void read(void *host, const void *array, int64_t bytes);
  void mark(int64_t call);
  void note(const Status &done);

  smet_context table = {}; ///< first, so that `of` is a cast
  ThreadPool *thePool;
  Trace *theTrace = nullptr;
  Device *theDevice = nullptr;
  char *hostArena = nullptr;
  bool failed = false;
  std::array<char, 1024> error = {};
};

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_CONTEXT_H
