// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// Many tokens: one product a tile.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[TILES:.*]] = arith.constant 3 : index
// CHECK:         scf.parallel {{.*}} to (%[[TILES]])
// CHECK:           smet.gemm {{.*}} memref<700x32xf32
func.func @main(%x: memref<3x32x64xf32>, %w: memref<700x32xf32>, %y: memref<3x700x64xf32>) {
  nn.linear ins(%x, %w : memref<3x32x64xf32>, memref<700x32xf32>) outs(%y : memref<3x700x64xf32>)
  return
}

// -----

// One token: the threads share the rows of the weight.

// CHECK-LABEL: func.func @main(
// CHECK:         scf.parallel {{.*}} to (%c2)
// CHECK:           smet.gemm {{.*}} memref<256x32xf32
// CHECK:         smet.gemm {{.*}} memref<188x32xf32
func.func @main(%x: memref<1x32x16xf32>, %w: memref<700x32xf32>, %y: memref<1x700x16xf32>) {
  nn.linear ins(%x, %w : memref<1x32x16xf32>, memref<700x32xf32>) outs(%y : memref<1x700x16xf32>)
  return
}
