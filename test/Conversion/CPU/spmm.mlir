// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse | FileCheck %s
// RUN: smet-opt %s --smet-convert-kernels-to-cpu="vector-bits=256 num-registers=16" --canonicalize --cse | FileCheck %s --check-prefix=YMM

// A register tile is 6 rows x 4 vectors (then two of 5): 24 sums stay in registers over both reduction loops, which
// store nothing; a token vector is loaded once for all rows of the tile.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     smet.
// CHECK:         scf.parallel
// CHECK:           %{{.*}}:24 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK-NOT:         store
// CHECK:             %{{.*}}:24 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK-COUNT-4:       vector.load {{.*}} vector<16xf32>
// CHECK-NOT:           vector.load
// CHECK-NOT:           store
// CHECK-COUNT-24:      math.fma {{.*}} : vector<16xf32>
// CHECK-NOT:           store
// CHECK:               scf.yield
// CHECK-NOT:         store
// CHECK:             scf.yield
// CHECK-COUNT-24:  vector.store
// CHECK:           %{{.*}}:20 = scf.for
// CHECK-COUNT-20:  vector.store

// With 16 registers it is 6 rows x 2 vectors of 8 lanes.
// YMM:           %{{.*}}:12 = scf.for {{.*}} iter_args({{.*}}vector<8xf32>
// YMM-NOT:         store
// YMM:             %{{.*}}:12 = scf.for
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
  return
}
