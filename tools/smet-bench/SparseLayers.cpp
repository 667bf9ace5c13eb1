//===- SparseLayers.cpp - a job done by compiled kernels ------------------===//
#include "SparseLayers.h"

#include "Statistics.h"

#include "runtime/program/RandomData.h"
#include "runtime/support/Interrupt.h"

namespace smet::bench {
namespace {

/// An argument of an entry point.
struct Argument {
  std::string value, type, name, role;

  std::string declare(bool writable) const {
    return fmt::format("%{}: {} {{smet.name = \"{}\", smet.role = \"{}\", bufferization.writable = {}}}", value, type,
                       name, role, writable);
  }
};

std::string entryPoint(const Job &job, size_t layer, Op op) {
  const Shape &s = job.layers[layer];
  int64_t nnz = job.nnz(s);
  std::string w = fmt::format("l{}", layer);
  auto activation = [&](const char *name, int64_t features) {
    // "state" is packed by the pipeline and lives from call to call.
    return Argument{name, fmt::format("tensor<{}x{}x{}>", job.tokens, features, job.dtype),
                    fmt::format("{}{}", name, features), "state"};
  };
  auto valuesType = [&](std::string_view dtype) {
    return fmt::format("tensor<{}x{}x{}x{}>", nnz, job.blockRows, job.blockCols, dtype);
  };
  Argument t{"t",
             fmt::format("!smet.topology<{}x{}, block = [{}, {}], nnz = {}>", s.rows, s.cols, job.blockRows,
                         job.blockCols, nnz),
             w, "topology"},
      values{"w", valuesType(job.dtype), w + ".values", "param"},
      dvalues{"dw", valuesType("f32"), w + ".dvalues", "param"}, x = activation("x", s.cols),
                                                                 dy = activation("dy", s.rows),
                                                                 out = op == Op::Fwd  ? activation("y", s.rows)
                                                                       : op == Op::Dx ? activation("dx", s.cols)
                                                                                      : dvalues;
  std::vector<Argument> ins = op == Op::Dw ? std::vector{t, x, dy} : std::vector{t, values, op == Op::Dx ? dy : x};
  std::string arguments, names, types;
  for (const Argument &argument : ins) {
    arguments += argument.declare(false) + ", ";
    names += (names.empty() ? "%" : ", %") + argument.value;
    types += (types.empty() ? "" : ", ") + argument.type;
  }
  return fmt::format("func.func @l{}_{}({}{}) -> ({} {{smet.name = \"{}\"}}) {{\n"
                     "  %r = {} ins({} : {}) outs(%{} : {}) {} -> {}\n  return %r : {}\n}}\n",
                     layer, name(op), arguments, out.declare(true), out.type, out.name,
                     op == Op::Dw ? "smet.sddmm" : "smet.spmm", names, types, out.value, out.type,
                     op == Op::Dx ? "{transpose}" : "{}", out.type, out.type);
}

} // namespace

std::string moduleText(const Job &job) {
  std::string text;
  for (size_t layer = 0; layer < job.layers.size(); ++layer)
    for (Op op : ops)
      text += entryPoint(job, layer, op);
  return text;
}

rt::Expected<SparseLayers> SparseLayers::create(const Job &job, const rt::CompilerProcess &compiler,
                                                rt::ThreadPool &pool) {
  auto program = compiler.compile({{"module", moduleText(job)}, {"cpu", job.cpu}});
  if (!program)
    return std::unexpected(program.error());
  auto instance = rt::Instance::load(*program, pool);
  if (!instance)
    return std::unexpected(instance.error());
  for (size_t layer = 0; layer < job.layers.size(); ++layer) {
    const Shape &s = job.layers[layer];
    rt::BlockGrid grid{s.rows, s.cols, job.blockRows, job.blockCols};
    rt::drawTopology(**instance, pool, fmt::format("l{}", layer), grid, job.nnz(s), int64_t(layer));
  }
  rt::drawTensors(**instance, pool);
  return SparseLayers(std::move(*instance));
}

rt::Expected<double> SparseLayers::run(size_t layer, Op op) {
  if (rt::Status going = rt::checkInterrupt("measuring"); !going)
    return std::unexpected(going.error());
  rt::Expected<rt::Outcome> outcome = rt::Outcome::Ok;
  double seconds = secondsOf([&] { outcome = instance->run(fmt::format("l{}_{}", layer, name(op))); });
  if (!outcome)
    return std::unexpected(outcome.error());
  return seconds;
}

} // namespace smet::bench
