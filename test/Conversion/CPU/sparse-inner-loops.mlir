// RUN: smet-opt %s --split-input-file --smet-convert-kernels-to-cpu --canonicalize --cse | FileCheck %s

// The inner loops of the fast paths of blocks with a side of 1 (spmm.mlir and sddmm.mlir have the square blocks): sums
// are loop-carried vectors or live in one straight body, and nothing is stored before the sums are complete.

// 1 x 16: four inputs x four vectors of x are in registers outside of the loop over outputs, of which three are loaded,
// updated by 48 FMAs and stored.

// CHECK-LABEL: func.func @scatter(
// CHECK:         memref.alloc() : memref<{{.*}}xi32>
// CHECK:         scf.parallel
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK-COUNT-4:     vector.store {{.*}} vector<16xf32>
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-COUNT-16:      vector.load {{.*}} vector<16xf32>
// CHECK:               scf.for
// CHECK-COUNT-12:        vector.load {{.*}} vector<16xf32>
// CHECK-NOT:             vector.store
// CHECK-COUNT-48:        math.fma {{.*}} : vector<16xf32>
// CHECK-COUNT-12:        vector.store {{.*}} vector<16xf32>
// CHECK-NEXT:          }
!t = !smet.topology<512x1024, block = [1, 16], nnz = ?>
func.func @scatter(%p: memref<513xi32>, %c: memref<?xi16>, %tp: memref<65xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                   %w: memref<?x1x16xf32>, %x: memref<4x1024x64xf32>, %y: memref<4x512x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<513xi32>, memref<?xi16>, memref<65xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x1x16xf32>, memref<4x1024x64xf32>) outs(%y : memref<4x512x64xf32>)
  return
}

// -----

// 1 x 1: the sums of two token tiles are carried over an output's entries in a panel; an entry loads one weight and
// eight vectors of x. Weights are in the order of this walk.

// CHECK-LABEL: func.func @panels(
// CHECK-NOT:     memref.alloc() : memref<{{.*}}xf32>
// CHECK:         scf.parallel
// CHECK:         scf.parallel
// CHECK:           %{{.*}}:8 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK-NOT:         store
// CHECK-COUNT-8:     math.fma {{.*}} : vector<16xf32>
// CHECK-NOT:         {{store|math.fma}}
// CHECK:             scf.yield
// CHECK-COUNT-8:   vector.store {{.*}} vector<16xf32>
!t = !smet.topology<512x512, block = [1, 1], nnz = ?>
func.func @panels(%p: memref<513xi32>, %c: memref<?xi16>, %tp: memref<513xi32>, %tc: memref<?xi16>,
                  %perm: memref<?xi32>, %w: memref<?x1x1xf32>, %x: memref<4x512x64xf32>, %y: memref<4x512x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<513xi32>, memref<?xi16>, memref<513xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x1x1xf32>, memref<4x512x64xf32>) outs(%y : memref<4x512x64xf32>)
  return
}

// -----

// The transposed walk copies weights first, in scratch of a quarter of the matrix, and reads them from there.

// CHECK-LABEL: func.func @transposed(
// CHECK:         %[[COPY:.*]] = memref.alloc() : memref<65536xf32>
// CHECK:         scf.for
// CHECK:           scf.parallel
// CHECK:             memref.store %{{.*}}, %[[COPY]]
// CHECK:           scf.parallel
// CHECK:             scf.if
// CHECK:               %{{.*}}:8 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK-NOT:             store
// CHECK:                 memref.load %[[COPY]]
// CHECK-COUNT-8:         math.fma {{.*}} : vector<16xf32>
// CHECK-NOT:             {{store|math.fma}}
// CHECK:                 scf.yield
!t = !smet.topology<512x512, block = [1, 1], nnz = ?>
func.func @transposed(%p: memref<513xi32>, %c: memref<?xi16>, %tp: memref<513xi32>, %tc: memref<?xi16>,
                      %perm: memref<?xi32>, %w: memref<?x1x1xf32>, %x: memref<4x512x64xf32>,
                      %y: memref<4x512x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<513xi32>, memref<?xi16>, memref<513xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x1x1xf32>, memref<4x512x64xf32>) outs(%y : memref<4x512x64xf32>) {transpose}
  return
}

// -----

// 1 x 1: where 45 % of the weights are active, panels of a dense gradient, six rows of 64 lanes in registers. Below that,
// eight vectors of dy are held for all slots of a row; eight slots of eight FMAs are reduced together (eight folds of two
// shuffles) into one store.

// CHECK-LABEL: func.func @singles(
// CHECK:         scf.if
// CHECK:           scf.parallel
// CHECK:             memref.alloca() {{.*}} : memref<192x64xf32>
// CHECK:             %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK-NOT:           store
// CHECK-COUNT-6:       math.fma {{.*}} : vector<64xf32>
// CHECK:           scf.parallel
// CHECK-COUNT-8:     vector.load {{.*}} vector<16xf32>
// CHECK:             scf.for
// CHECK-NOT:           {{store|iter_args}}
// CHECK-COUNT-64:      math.fma {{.*}} : vector<16xf32>
// CHECK-NOT:           store
// CHECK-COUNT-16:      vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK:               vector.store {{.*}} vector<8xf32>
// CHECK-NEXT:        }
!t = !smet.topology<512x512, block = [1, 1], nnz = ?>
func.func @singles(%p: memref<513xi32>, %c: memref<?xi16>, %tp: memref<513xi32>, %tc: memref<?xi16>,
                   %perm: memref<?xi32>, %x: memref<4x512x64xf32>, %dy: memref<4x512x64xf32>,
                   %dw: memref<?x1x1xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<513xi32>, memref<?xi16>, memref<513xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.sddmm ins(%t, %x, %dy : !t, memref<4x512x64xf32>, memref<4x512x64xf32>) outs(%dw : memref<?x1x1xf32>) {accumulate}
  return
}

// -----

// 16 x 16 in bf16: an item converts its token tile once. The reduction loops load vectors from this copy and convert the
// weights only, one by one.

// CHECK-LABEL: func.func @halves(
// CHECK:         scf.parallel
// CHECK:           %[[COPY:.*]] = memref.alloca() {{.*}} : memref<65536xf32>
// CHECK:           %{{.*}}:24 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK-NOT:         {{store|vector<32xbf16>|vector<16xi32>}}
// CHECK-COUNT-4:       vector.load %[[COPY]]{{.*}} vector<16xf32>
// CHECK-NOT:         {{store|vector<32xbf16>|vector<16xi32>}}
// CHECK:               scf.yield
// CHECK-NOT:         {{store|vector<32xbf16>|vector<16xi32>}}
// CHECK:             scf.yield
// CHECK:           vector.store {{.*}} vector<32xbf16>
!t = !smet.topology<512x1024, block = [16, 16], nnz = ?>
func.func @halves(%p: memref<33xi32>, %c: memref<?xi16>, %tp: memref<65xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                  %w: memref<?x16x16xbf16>, %x: memref<4x1024x64xbf16>, %y: memref<4x512x64xbf16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<33xi32>, memref<?xi16>, memref<65xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xbf16>, memref<4x1024x64xbf16>) outs(%y : memref<4x512x64xbf16>)
  return
}
