// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse | FileCheck %s

// Tiles of 4 x 4 dot products: 16 sums in registers over the tokens of a chunk, then reduced together by 15 folds of two
// shuffles and stored in rows of four. The gradients are in scratch of a quarter of the weights.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     smet.
// CHECK:         memref.alloc() : memref<512xf32>
// CHECK:         scf.parallel
// CHECK:           vector.store {{.*}} vector<16xf32>
// CHECK:         scf.parallel
// CHECK:           %{{.*}}:16 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK-NOT:         store
// CHECK-COUNT-16:    math.fma {{.*}} : vector<16xf32>
// CHECK-NOT:         store
// CHECK:             scf.yield
// CHECK-COUNT-30:  vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK-COUNT-4:   vector.store {{.*}} vector<4xf32>
// CHECK:         scf.parallel
// The gradient of a block is used up by the optimizer; its age decides the factors, in double.
// CHECK:           memref.load {{.*}} : memref<?xi16>
// CHECK:           arith.select {{.*}} : f64
// CHECK:           math.sqrt {{.*}} : vector<16xf32>
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
!w = memref<?x16x16xf32>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %x: memref<2x64x64xf32>, %dy: memref<2x32x64xf32>, %lr: memref<f32>, %step: memref<i64>,
                %w: !w, %m: !w, %v: !w, %age: memref<?xi16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.sddmm_adam ins(%t, %x, %dy, %lr, %step : !t, memref<2x64x64xf32>, memref<2x32x64xf32>, memref<f32>, memref<i64>)
                  outs(%w, %m, %v, %age : !w, !w, !w, memref<?xi16>) {adamw = #smet.adamw<beta1 = 0.9>}
  return
}
