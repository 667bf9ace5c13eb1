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

/// Runs the GPU kernels of a program.
class Device {
public:
  virtual ~Device() = default;
  virtual Status launch(const smet_kernel &kernel, const smet_launch &launch, ThreadPool &pool) = 0;
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
  /// Who runs GPU kernels; null: nobody, they fail.
  void setDevice(Device *device) { theDevice = device; }
  /// Whether a kernel has failed since the last call of this.
  bool takeFailure() { return std::exchange(failed, false); }
  /// The last message that a routine or a kernel left.
  std::string_view message() const { return error.data(); }

private:
  Context(ThreadPool &pool, Sgemm sgemm);
  void launch(const smet_kernel &kernel, const smet_launch &launch);

  smet_context table = {}; ///< first, so that `of` is a cast
  ThreadPool *thePool;
  Trace *theTrace = nullptr;
  Device *theDevice = nullptr;
  bool failed = false;
  std::array<char, 1024> error = {};
};

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_CONTEXT_H
