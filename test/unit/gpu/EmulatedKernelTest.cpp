//===- EmulatedKernelTest.cpp - kernels of the gpu dialect, executed ------===//
//
// The road of a GPU kernel from the gpu dialect through NVVM to the emulator. What it computes is held against plain
// loops; bugs are planted in the text of the kernel, and must be reported with the line that they are in.
//
//===----------------------------------------------------------------------===//
#include "EmulatedKernel.h"

#include "runtime/cpu/BF16.h"

#include <gmock/gmock.h>

using namespace smet::rt;
using smet::test::EmulatedKernel, smet::test::replaced;
using testing::HasSubstr;

namespace {

/// Sums of 64 numbers a block: by shuffles in a warp, by shared memory over the two.
constexpr const char *sums = R"(
gpu.module @m {
  gpu.func @sums(%x: memref<256xf32>, %y: memref<4xf32>)
      workgroup(%part: memref<2xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %first = arith.muli %b, %c64 : index
    %i = arith.addi %first, %t : index
    %v = memref.load %x[%i] : memref<256xf32>
    %o16 = arith.constant 16 : i32
    %s16, %p16 = gpu.shuffle xor %v, %o16, %w : f32
    %v16 = arith.addf %v, %s16 : f32
    %o8 = arith.constant 8 : i32
    %s8, %p8 = gpu.shuffle xor %v16, %o8, %w : f32
    %v8 = arith.addf %v16, %s8 : f32
    %o4 = arith.constant 4 : i32
    %s4, %p4 = gpu.shuffle xor %v8, %o4, %w : f32
    %v4 = arith.addf %v8, %s4 : f32
    %o2 = arith.constant 2 : i32
    %s2, %p2 = gpu.shuffle xor %v4, %o2, %w : f32
    %v2 = arith.addf %v4, %s2 : f32
    %o1 = arith.constant 1 : i32
    %s1, %p1 = gpu.shuffle xor %v2, %o1, %w : f32
    %v1 = arith.addf %v2, %s1 : f32
    %warp = arith.divui %t, %c32 : index
    %lane = arith.remui %t, %c32 : index
    %isFirst = arith.cmpi eq, %lane, %c0 : index
    scf.if %isFirst {
      memref.store %v1, %part[%warp] : memref<2xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %isZero = arith.cmpi eq, %t, %c0 : index
    scf.if %isZero {
      %a = memref.load %part[%c0] : memref<2xf32, #gpu.address_space<workgroup>>
      %c = memref.load %part[%c1] : memref<2xf32, #gpu.address_space<workgroup>>
      %sum = arith.addf %a, %c : f32
      memref.store %sum, %y[%b] : memref<4xf32>
    }
    gpu.return
  }
})";

TEST_F(EmulatedKernel, SumsByShufflesAndSharedMemory) {
  alignas(32) float x[256], y[4];
  for (int i = 0; i < 256; ++i)
    x[i] = float(i * 7 % 31) - 11;
  buffers = {{x, sizeof(x)}, {y, sizeof(y)}};
  for (bool check : {false, true})
    for (uint64_t seed : {1, 2}) {
      KernelCounters counters;
      auto done = run(sums, "sums", {4, 1, 1}, {64, 1, 1}, {check, seed}, &counters);
      ASSERT_TRUE(done) << done.error().message;
      for (int block = 0; block < 4; ++block) {
        float sum = 0; // of whole numbers: exact in any order
        for (int i = 0; i < 64; ++i)
          sum += x[block * 64 + i];
        EXPECT_EQ(y[block], sum);
      }
      if (!check)
        continue;
      EXPECT_EQ(counters.globalLoadBytes, 1024);
      EXPECT_EQ(counters.globalLoadSectors, 32);
      // Five additions a thread, one for each block.
      EXPECT_EQ(counters.flops, 4 * (64 * 5 + 1));
    }
}

TEST_F(EmulatedKernel, ReportsPlantedBugs) {
  std::vector<float> x(256), y(4);
  buffers = {{x.data(), 1024}, {y.data(), 16}};
  auto problem = [&](const std::string &text, std::array<uint32_t, 3> block = {64, 1, 1}) {
    auto done = run(text, "sums", {4, 1, 1}, block, {.check = true, .seed = 3});
    return done ? "no problem" : done.error().message;
  };
  EXPECT_THAT(problem(replaced(sums, "gpu.barrier", "")),
              testing::AllOf(HasSubstr("kernel 'm.sums'"), HasSubstr("kernel.mlir:4"),
                             testing::AnyOf(HasSubstr("nothing was stored"), HasSubstr("race"))));
  EXPECT_THAT(problem(replaced(sums, "%i = arith.addi %first, %t : index",
                               "%j = arith.addi %first, %t : index\n %i = arith.addi %j, %c1 : index")),
              HasSubstr("out of bounds: load of 4 bytes at byte 1024 of argument 0, which has 1024"));
  EXPECT_THAT(problem(replaced(replaced(sums, "    gpu.barrier\n", ""), "scf.if %isFirst {",
                               "scf.if %isFirst {\n gpu.barrier")),
              HasSubstr("wait for others in vain"));
  // Both warps write one place.
  EXPECT_THAT(problem(replaced(sums, "%part[%warp]", "%part[%c0]")), HasSubstr("race with a store"));
}

/// D = A B of 16 x 16 and 16 x 8 in bf16 by one warp, fragments gathered from memory.
constexpr const char *product = R"(
gpu.module @m {
  gpu.func @product(%A: memref<16x16xbf16>, %B: memref<8x16xbf16>, %D: memref<16x8xf32>) kernel {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c2 = arith.constant 2 : index
    %t = gpu.thread_id x
    %g = arith.divui %t, %c4 : index
    %q = arith.remui %t, %c4 : index
    %k = arith.muli %q, %c2 : index
    %g8 = arith.addi %g, %c8 : index
    %k8 = arith.addi %k, %c8 : index
    %va0 = vector.load %A[%g, %k] : memref<16x16xbf16>, vector<2xbf16>
    %va1 = vector.load %A[%g8, %k] : memref<16x16xbf16>, vector<2xbf16>
    %va2 = vector.load %A[%g, %k8] : memref<16x16xbf16>, vector<2xbf16>
    %va3 = vector.load %A[%g8, %k8] : memref<16x16xbf16>, vector<2xbf16>
    %vb0 = vector.load %B[%g, %k] : memref<8x16xbf16>, vector<2xbf16>
    %vb1 = vector.load %B[%g, %k8] : memref<8x16xbf16>, vector<2xbf16>
    %xa0 = vector.bitcast %va0 : vector<2xbf16> to vector<1xi32>
    %xa1 = vector.bitcast %va1 : vector<2xbf16> to vector<1xi32>
    %xa2 = vector.bitcast %va2 : vector<2xbf16> to vector<1xi32>
    %xa3 = vector.bitcast %va3 : vector<2xbf16> to vector<1xi32>
    %xb0 = vector.bitcast %vb0 : vector<2xbf16> to vector<1xi32>
    %xb1 = vector.bitcast %vb1 : vector<2xbf16> to vector<1xi32>
    %a0 = vector.extract %xa0[0] : i32 from vector<1xi32>
    %a1 = vector.extract %xa1[0] : i32 from vector<1xi32>
    %a2 = vector.extract %xa2[0] : i32 from vector<1xi32>
    %a3 = vector.extract %xa3[0] : i32 from vector<1xi32>
    %b0 = vector.extract %xb0[0] : i32 from vector<1xi32>
    %b1 = vector.extract %xb1[0] : i32 from vector<1xi32>
    %z = arith.constant 0.0 : f32
    %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%z, %z, %z, %z]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>,
       multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
      : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(f32, f32, f32, f32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(f32, f32, f32, f32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(f32, f32, f32, f32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(f32, f32, f32, f32)>
    %k1 = arith.addi %k, %c1 : index
    memref.store %d0, %D[%g, %k] : memref<16x8xf32>
    memref.store %d1, %D[%g, %k1] : memref<16x8xf32>
    memref.store %d2, %D[%g8, %k] : memref<16x8xf32>
    memref.store %d3, %D[%g8, %k1] : memref<16x8xf32>
    gpu.return
  }
})";

TEST_F(EmulatedKernel, MultipliesFragments) {
  std::vector<uint16_t> a(256), b(128);
  std::vector<float> d(128);
  auto number = [](uint16_t bits) {
    BF16 x;
    x.bits = bits;
    return float(x);
  };
  for (int i = 0; i < 256; ++i)
    a[i] = BF16(float(i * 37 % 101 - 50) / 64).bits;
  for (int i = 0; i < 128; ++i)
    b[i] = BF16(float(i * 53 % 97 - 40) / 64).bits;
  buffers = {{a.data(), 512}, {b.data(), 256}, {d.data(), 512}};
  auto wrong = [&](const std::string &text) {
    KernelCounters counters;
    auto done = run(text, "product", {1, 1, 1}, {32, 1, 1}, {.check = true}, &counters);
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(counters.mmas, 1);
    int count = 0;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        float sum = 0; // exact: products of few bits
        for (int k = 0; k < 16; ++k)
          sum += number(a[i * 16 + k]) * number(b[j * 16 + k]);
        count += d[i * 8 + j] != sum;
      }
    return count;
  };
  EXPECT_EQ(wrong(product), 0);
  // A wrong fragment index: rows 8 to 15 of a in the place of columns 8 to 15.
  EXPECT_GT(wrong(replaced(product, "A[%a0, %a1, %a2, %a3]", "A[%a0, %a2, %a1, %a3]")), 64);
}

} // namespace
