// RUN: smet-opt %s --split-input-file --smet-convert-kernels-to-cpu --canonicalize --cse | FileCheck %s

// An op that says how it is computed is computed so: 3 rows x 2 vectors, where the model takes 6 x 4.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     smet.
// CHECK:         %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK:         %{{.*}}:4 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
    {smet.choice = {kernel = "tiles", columns = 2, rows = 3, pieces = 8}}
  return
}

// -----

// 2 x 8 dot products, in place of 4 x 4.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     smet.
// CHECK:         %{{.*}}:8 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK-NOT:     %{{.*}}:16 = scf.for
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %x: memref<2x64x64xf32>, %dy: memref<2x32x64xf32>, %dw: memref<?x16x16xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.sddmm ins(%t, %x, %dy : !t, memref<2x64x64xf32>, memref<2x32x64xf32>) outs(%dw : memref<?x16x16xf32>)
    {smet.choice = {by_columns = true, height = 2, width = 4, chunk_tiles = 1, items = 4}}
  return
}
