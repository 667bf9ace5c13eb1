//===- PlantedBugsTest.cpp - bugs in the kernels of tensor cores ----------===//
//
// The text of an SpMM kernel as the compiler writes it, and with one thing wrong: the emulator reports it, or where the
// bug is in the arithmetic, the numbers are wrong. What the kernels cost is counted.
//
//===----------------------------------------------------------------------===//
#include "EmulatedKernel.h"

#include "runtime/cpu/BF16.h"

#include <gmock/gmock.h>

#include <map>

using namespace smet::rt;
using smet::test::replaced;
using testing::HasSubstr;

namespace {

/// Three blocks of 16 x 256, in two rows: eight steps of the pipeline each.
constexpr const char *spmm = R"(
!t = !smet.topology<32x512, block = [16, 256], nnz = 3>
module @m {
  func.func @main(%p: memref<3xi32>, %c: memref<3xi16>, %tp: memref<3xi32>, %tc: memref<3xi16>, %perm: memref<3xi32>,
                  %w: memref<3x16x256xbf16>, %x: memref<1x512x128xbf16>, %y: memref<1x32x128xbf16>) {
    %t = smet.topology.pack %p, %c, %tp, %tc, %perm
      : memref<3xi32>, memref<3xi16>, memref<3xi32>, memref<3xi16>, memref<3xi32> -> !t
    smet.spmm ins(%t, %w, %x : !t, memref<3x16x256xbf16>, memref<1x512x128xbf16>) outs(%y : memref<1x32x128xbf16>)
    return
  }
})";

/// Gradients of three blocks of 32 x 64.
constexpr const char *sddmm = R"(
!t = !smet.topology<64x128, block = [32, 64], nnz = 3>
module @m {
  func.func @main(%p: memref<3xi32>, %c: memref<3xi16>, %tp: memref<3xi32>, %tc: memref<3xi16>, %perm: memref<3xi32>,
                  %x: memref<1x128x128xbf16>, %dy: memref<1x64x128xbf16>, %dw: memref<3x32x64xf32>) {
    %t = smet.topology.pack %p, %c, %tp, %tc, %perm
      : memref<3xi32>, memref<3xi16>, memref<3xi32>, memref<3xi16>, memref<3xi32> -> !t
    smet.sddmm ins(%t, %x, %dy : !t, memref<1x128x128xbf16>, memref<1x64x128xbf16>) outs(%dw : memref<3x32x64xf32>)
    return
  }
})";

float number(uint16_t bits) {
  BF16 x;
  x.bits = bits;
  return float(x);
}

class PlantedBugs : public smet::test::EmulatedKernel {
protected:
  void SetUp() override {
    EmulatedKernel::SetUp();
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = BF16(float(int(i * 37 % 19) - 9)).bits;
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = BF16(float(int(i * 53 % 13) - 6)).bits;
    correct = smet::test::gpuModuleOf(spmm);
    ASSERT_THAT(correct, HasSubstr("gpu.func @launch0("));
    bind(correct, {{"memref<3xi32>", bufferOf(positions)},
                   {"memref<3xi16>", bufferOf(coordinates)},
                   {"memref<3x16x256xbf16>", bufferOf(w)},
                   {"memref<1x512x128xbf16>", bufferOf(x)},
                   {"memref<1x32x128xbf16>", bufferOf(y)},
                   {"memref<32x16x128xf32>", bufferOf(carries)}});
  }

  template <typename T> static KernelBuffer bufferOf(std::vector<T> &array) {
    return {array.data(), int64_t(array.size() * sizeof(T))};
  }
  /// Arguments by their types, in the order of the signature of a module's first launch.
  void bind(const std::string &text, const std::map<std::string, KernelBuffer> &arguments) {
    std::string signature = text.substr(text.find("@launch0("));
    signature.resize(signature.find(" kernel"));
    signature.resize(signature.find(" workgroup"));
    std::map<size_t, KernelBuffer> found;
    for (const auto &[type, buffer] : arguments) {
      size_t at = signature.find(": " + type);
      ASSERT_NE(at, std::string::npos) << type << " in " << signature;
      found[at] = buffer;
    }
    ASSERT_EQ(std::ranges::count(signature, ':'), std::ptrdiff_t(found.size())) << signature;
    buffers.clear();
    for (const auto &[at, buffer] : found)
      buffers.push_back(buffer);
  }

  /// What the emulator says of a kernel, "" if nothing.
  std::string problemOf(const std::string &text) {
    // A chunk for each entry, and one block for each.
    auto done = run(text, "device.launch0", {32, 1, 1}, {128, 1, 1}, {.check = true, .seed = 5});
    return done ? "" : done.error().message;
  }

  /// How many sums are wrong: blocks 0 and 1 begin their rows, block 2 goes on with one. All numbers are whole.
  int wrongSums() const {
    int wrong = 0;
    for (int slot = 0; slot < 3; ++slot)
      for (int r = 0; r < 16; ++r)
        for (int t = 0; t < 128; ++t) {
          float sum = 0;
          for (int k = 0; k < 256; ++k)
            sum += number(w[(slot * 16 + r) * 256 + k]) * number(x[(coordinates[slot] * 256 + k) * 128 + t]);
          wrong += slot < 2 ? y[(slot * 16 + r) * 128 + t] != BF16(sum).bits : carries[(2 * 16 + r) * 128 + t] != sum;
        }
    return wrong;
  }

  std::vector<int32_t> positions{0, 1, 3};
  std::vector<int16_t> coordinates{1, 0, 1};
  std::vector<uint16_t> w = std::vector<uint16_t>(3 * 16 * 256), x = std::vector<uint16_t>(512 * 128),
                        y = std::vector<uint16_t>(32 * 128);
  std::vector<float> carries = std::vector<float>(32 * 16 * 128);
  std::string correct;
};

} // namespace

TEST_F(PlantedBugs, NoneIsPlanted) {
  EXPECT_EQ(problemOf(correct), "");
  EXPECT_EQ(wrongSums(), 0);
}

// Every mma.sync is needed, and no access to shared memory waits for another: copies, ldmatrix, sums.
TEST_F(PlantedBugs, NothingIsWastedBySpmm) {
  KernelCounters counters;
  auto done = run(correct, "device.launch0", {32, 1, 1}, {128, 1, 1}, {.check = true}, &counters);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(counters.mmas, 3 * 256 / 16 * 128 / 8);
  EXPECT_EQ(counters.sharedConflicts, 0);
  // Of a step's 32 features: what is copied, and read by four warps, of 128 bytes each: x once, the weights by all.
  int64_t x = 32 * 128 * 2 / 128, w = 32 * 16 * 2 / 128;
  EXPECT_EQ(counters.sharedPasses, 3 * 8 * (x + w + x + 4 * w));
  EXPECT_GE(counters.globalLoadBytes, 3 * 256 * (128 + 16) * 2);
  EXPECT_EQ(counters.flops, 0);
}

TEST_F(PlantedBugs, NothingIsWastedBySddmm) {
  std::string text = smet::test::gpuModuleOf(sddmm);
  std::vector<float> dw(3 * 32 * 64);
  std::vector<uint16_t> dy(y.size() * 2, BF16(2.f).bits);
  x.resize(128 * 128);
  bind(text, {{"memref<3xi32>", bufferOf(positions)},
              {"memref<3xi16>", bufferOf(coordinates)},
              {"memref<1x128x128xbf16>", bufferOf(x)},
              {"memref<1x64x128xbf16>", bufferOf(dy)},
              {"memref<6144xf32>", bufferOf(dw)}});
  KernelCounters counters;
  auto done = run(text, "device.launch0", {3, 1, 1}, {128, 1, 1}, {.check = true}, &counters);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(counters.mmas, 3 * 32 / 16 * 64 / 8 * 128 / 16);
  EXPECT_EQ(counters.sharedConflicts, 0);
  EXPECT_EQ(counters.globalStoreBytes, int64_t(dw.size() * sizeof(float)));
}

TEST_F(PlantedBugs, MissingWait) {
  EXPECT_THAT(problemOf(replaced(correct, "nvvm.cp.async.wait.group 2", "nvvm.cp.async.wait.group 3")),
              HasSubstr("missing wait for an asynchronous copy"));
}

TEST_F(PlantedBugs, MissingBarrier) {
  // A thread's own wait says nothing of the others' copies, nor of who still reads what it asks for.
  EXPECT_THAT(problemOf(replaced(correct, "gpu.barrier", "")),
              testing::AnyOf(HasSubstr("missing wait"), HasSubstr("race"), HasSubstr("nothing was stored")));
}

TEST_F(PlantedBugs, WrongFragmentIndex) {
  size_t at = correct.find("nvvm.mma.sync A["), first = correct.find(", ", at) + 2, second = correct.find(", ", first);
  size_t third = correct.find(", ", second + 2);
  ASSERT_NE(at, std::string::npos);
  std::string b = correct.substr(first, second - first), c = correct.substr(second + 2, third - second - 2);
  std::string text = correct;
  text.replace(first, third - first, c + ", " + b);
  EXPECT_EQ(problemOf(text), "");
  EXPECT_GT(wrongSums(), 500);
}

TEST_F(PlantedBugs, WrongTransposition) {
  EXPECT_EQ(problemOf(replaced(correct, "transpose = true", "transpose = false")), "");
  EXPECT_GT(wrongSums(), 500);
}
