//===- Context.cpp --------------------------------------------------------===//

#include "runtime/cpu/Context.h"

#include "runtime/cpu/Routines.h"

#include <cstring>

namespace smet::rt {

Status Device::read(void *host, const void *array, int64_t bytes) {
  std::memcpy(host, array, size_t(bytes));
  return {};
}

void leaveMessage(smet_context &context, std::string_view message) {
  context.error[message.copy(context.error, size_t(context.error_size) - 1)] = 0;
}

Context::Context(ThreadPool &pool, Sgemm sgemm) : thePool(&pool) {
  table.sgemm = sgemm;
  table.parallel_for = [](smet_context *context, smet_body body, void *env, int64_t n) {
    Context::of(context).pool().parallelFor(body, env, n);
  };
  table.launch = [](smet_context *context, const smet_kernel *kernel, const smet_launch *launch) {
    Context::of(context).launch(*kernel, *launch);
  };
  table.read = [](smet_context *context, void *host, const void *array, int64_t bytes) {
    Context::of(context).read(host, array, bytes);
  };
  setRoutines(table);
  table.error = error.data();
  table.error_size = int64_t(error.size());
}

Expected<std::unique_ptr<Context>> Context::create(ThreadPool &pool) {
  auto gemm = selectGemm();
  if (!gemm)
    return std::unexpected(gemm.error());
  return std::unique_ptr<Context>(new Context(pool, gemm->sgemm));
}

void Context::launch(const smet_kernel &kernel, const smet_launch &launch) {
  if (failed)
    return;
  note(theDevice ? theDevice->launch(kernel, launch, *thePool)
                 : fail("kernel '{}' is for a GPU, and there is none", kernel.name));
}

/// What could not be read is zeros.
void Context::read(void *host, const void *array, int64_t bytes) {
  std::memset(host, 0, size_t(bytes));
  if (!theDevice)
    std::memcpy(host, array, size_t(bytes));
  else if (!failed)
    note(theDevice->read(host, array, bytes));
}

/// A call has ended when what it launched has.
void Context::mark(int64_t call) {
  if (theDevice && !failed)
    note(theDevice->finish());
  theTrace->mark(call);
}

void Context::note(const Status &done) {
  if (done)
    return;
  failed = true;
  leaveMessage(table, done.error().message);
}

Expected<char *> Context::toHost(char *arena, std::span<const int64_t> offsets) {
  if (failed)
    return fail("{}", message());
  if (!theDevice)
    return arena;
  if (Status brought = theDevice->toHost(offsets); !brought)
    return std::unexpected(brought.error());
  return hostArena ? hostArena : arena;
}

void Context::setTrace(Trace *trace) {
  theTrace = trace;
  table.trace = nullptr;
  if (trace)
    table.trace = [](smet_context *context, int64_t call) { Context::of(context).mark(call); };
}

Context &Context::of(smet_context *context) {
  static_assert(std::is_standard_layout_v<Context>);
  return *reinterpret_cast<Context *>(context);
}

} // namespace smet::rt
