//===- KernelHarness.h - compile, run and compare kernels -------*- C++ -*-===//
//
// Compiles an entry point on tensors to a program file with the product's pipeline, loads it with the runtime, and
// gives its tensors by name:
//
//   Kernel kernel(R"(
//     func.func @main(%a: tensor<70x48xf32> {smet.name = "a", smet.role = "input", bufferization.writable = false},
//                     %b: ..., %c: tensor<70x48xf32> {smet.name = "c", smet.role = "output", bufferization.writable =
//                     true})
//         -> (tensor<70x48xf32> {smet.name = "c"}) {
//       %r = nn.add ins(%a, %b : ...) outs(%c : ...) -> tensor<70x48xf32>
//       return %r : tensor<70x48xf32>
//     })", Target::CPU);
//   kernel.set("a", values); kernel.run("main"); kernel.get<float>("c");
//
// `entry` writes such a function for one op. On the CPU target activations are packed by the pipeline.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_KERNELS_KERNELHARNESS_H
#define SMET_TEST_UNIT_KERNELS_KERNELHARNESS_H

#include "runtime/cpu/ThreadPool.h"
#include "runtime/program/Instance.h"
#include "test/unit/support/CompileText.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace smet::test {

/// A compiled program. Failures to compile, load or run are test failures.
class Kernel {
public:
  Kernel(const std::string &module, Target target, int threads = 1, const std::string &cpu = "");

  template <typename T> void set(const std::string &name, const std::vector<T> &values) {
    std::span<T> tensor = view<T>(name);
    ASSERT_EQ(tensor.size(), values.size()) << name;
    std::copy(values.begin(), values.end(), tensor.begin());
  }
  template <typename T> std::vector<T> get(const std::string &name) {
    std::span<T> tensor = view<T>(name);
    return {tensor.begin(), tensor.end()};
  }
  /// Runs an entry point; returns whether the loss was finite. On Target::GPUChecked three times from the same state,
  /// each with another order of threads, which must not change a bit.
  bool run(const std::string &entry = "main");
  /// Runs an entry point that must fail; returns the message.
  std::string error(const std::string &entry = "main");

  const rt::Manifest &manifest() const { return instance->manifest(); }
  /// What the GPU kernels with `part` in their names did so far, on Target::GPUChecked.
  rt::KernelCounters counters(const std::string &part) const;
  bool valid() const { return instance != nullptr; }

private:
  template <typename T> std::span<T> view(const std::string &name) {
    if (!instance)
      return {};
    auto tensor = instance->arena().tensor<T>(name);
    if (!tensor) {
      ADD_FAILURE() << tensor.error().message;
      return {};
    }
    return *tensor;
  }

  std::unique_ptr<rt::ThreadPool> pool;
  std::unique_ptr<rt::Instance> instance;
  bool checked = false; ///< Target::GPUChecked
};

/// "cpu", say: for suites that run on several targets.
std::string nameOf(const testing::TestParamInfo<Target> &info);

/// An operand of an op under test.
struct Operand {
  std::string name; ///< of the tensor, and of the SSA value
  std::string type; ///< "tensor<70x48xf32>" or "!smet.topology<...>"
  std::string role = "input";
};

/// `func.func @main` around one destination-style op; inits are written and returned.
std::string entry(const std::string &op, const std::vector<Operand> &inputs, const std::vector<Operand> &inits,
                  const std::string &attributes = "");

/// "tensor<70x48xf32>"
std::string tensorType(const std::vector<int64_t> &shape, const std::string &element = "f32");

/// A block topology drawn at random, with the five arrays of !smet.topology.
struct Topology {
  int64_t rows, cols, blockRows, blockCols;
  std::vector<int32_t> positions, coordinates, tPositions, tCoordinates, tPerm;

  /// Every block is active with probability `density`; the blocks of `emptyRow` never, those of `fullRow` always (-1:
  /// none).
  static Topology random(int64_t rows, int64_t cols, int64_t blockRows, int64_t blockCols, double density,
                         std::mt19937 &rng, int64_t emptyRow = -1, int64_t fullRow = -1);
  /// The blocks that are set in the mask (row-major) are active.
  static Topology ofMask(int64_t rows, int64_t cols, int64_t blockRows, int64_t blockCols,
                         const std::vector<bool> &mask);
  int64_t nnz() const { return coordinates.size(); }
  /// "!smet.topology<...>"
  std::string type() const;
  /// Writes the arrays "name.positions", ... of a kernel.
  void fill(Kernel &kernel, const std::string &name) const;
  /// (row block, column block) of a slot.
  std::pair<int64_t, int64_t> block(int64_t slot) const;
};

template <typename T> std::vector<T> randomVector(size_t size, std::mt19937 &rng, double scale = 1) {
  std::normal_distribution<double> normal(0, scale);
  std::vector<T> values(size);
  for (T &value : values)
    value = static_cast<T>(normal(rng));
  return values;
}

/// max |a - b| / max |b|
template <typename A, typename B> double relativeError(const std::vector<A> &a, const std::vector<B> &b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, largest = 1e-30;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    double d = std::abs(double(a[i]) - double(b[i]));
    difference = d <= difference ? difference : d; // NaN wins
    largest = std::max(largest, std::abs(double(b[i])));
  }
  return difference / largest;
}

} // namespace smet::test

#endif // SMET_TEST_UNIT_KERNELS_KERNELHARNESS_H
