//===- Context.cpp --------------------------------------------------------===//

#include "runtime/cpu/Context.h"

#include "runtime/cpu/Routines.h"

#include <cstring>

namespace smet::rt {

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
  table.read = [](smet_context *, void *host, const void *array, int64_t bytes) {
    std::memcpy(host, array, size_t(bytes)); // this arena is the host's, and a launch ends when it is done
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
  Status done = theDevice ? theDevice->launch(kernel, launch, *thePool)
                          : fail("kernel '{}' is for a GPU, and there is none", kernel.name);
  if (done)
    return;
  failed = true;
  leaveMessage(table, done.error().message);
}

void Context::setTrace(Trace *trace) {
  theTrace = trace;
  table.trace = nullptr;
  if (trace)
    table.trace = [](smet_context *context, int64_t call) { Context::of(context).theTrace->mark(call); };
}

Context &Context::of(smet_context *context) {
  static_assert(std::is_standard_layout_v<Context>);
  return *reinterpret_cast<Context *>(context);
}

} // namespace smet::rt
