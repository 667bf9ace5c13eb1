// RUN: not smet-opt %s --smet-convert-kernels-to-cpu 2>&1 | FileCheck %s

// Token-major activations have no kernel: the pipeline packs them before.
// CHECK: error: 'smet.spmm' op has no CPU kernel for these operand types
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xf32>, %x: memref<128x64xf32>, %y: memref<128x32xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<128x64xf32>) outs(%y : memref<128x32xf32>)
  return
}
