//===- PlantedBugsTest.cpp - bugs in the kernels of tensor cores ----------===//
//
// The text of an SpMM kernel as the compiler writes it, and with one thing wrong: the emulator reports it, or where the
// bug is in the arithmetic, the numbers are wrong.
//
//===----------------------------------------------------------------------===//
#include "EmulatedKernel.h"

#include "runtime/cpu/BF16.h"

#include <gmock/gmock.h>

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
    bindArguments();
  }

  /// By their types, in the order of the kernel's signature.
  void bindArguments() {
    std::string signature = correct.substr(correct.find("@launch0("));
    signature.resize(signature.find(" kernel"));
    signature.resize(signature.find(" workgroup"));
    std::map<size_t, KernelBuffer> found;
    auto bind = [&](const char *type, auto &array) {
      size_t at = signature.find(std::string(": ") + type);
      ASSERT_NE(at, std::string::npos) << type << " in " << signature;
      found[at] = {array.data(), int64_t(array.size() * sizeof(array[0]))};
    };
    bind("memref<3xi32>", positions);
    bind("memref<3xi16>", coordinates);
    bind("memref<3x16x256xbf16>", w);
    bind("memref<1x512x128xbf16>", x);
    bind("memref<1x32x128xbf16>", y);
    bind("memref<32x16x128xf32>", carries);
    ASSERT_EQ(std::ranges::count(signature, ':'), std::ptrdiff_t(found.size())) << signature;
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
