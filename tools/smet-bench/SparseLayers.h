//===- SparseLayers.h - a job done by compiled kernels ----------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_SPARSELAYERS_H
#define SMET_TOOLS_BENCH_SPARSELAYERS_H

#include "Job.h"

#include "runtime/program/Instance.h"
#include "runtime/train/CompilerProcess.h"

namespace smet::bench {

/// The job as IR: entry points "l<layer>_<op>" on tensors that the layers of equal sizes share.
std::string moduleText(const Job &job);

class SparseLayers {
public:
  /// Compiles the kernels (or finds them), draws random topologies, weights and activations.
  static rt::Expected<SparseLayers> create(const Job &job, const rt::CompilerProcess &compiler, rt::ThreadPool &pool);
  /// The processor that the kernels are compiled for.
  const std::string &cpu() const { return instance->manifest().cpu; }
  /// Seconds of one product.
  rt::Expected<double> run(size_t layer, Op op);

private:
  explicit SparseLayers(std::unique_ptr<rt::Instance> instance) : instance(std::move(instance)) {}
  std::unique_ptr<rt::Instance> instance;
};

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_SPARSELAYERS_H
