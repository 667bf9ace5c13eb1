// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// A dense parameter has one pair of corrections, from the step, computed once by squaring in double; then plain vectors.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[G:.*]]: memref<200x100xf32>, %{{.*}}: memref<f32>, %[[STEP:.*]]: memref<i64>, %[[W:.*]]: memref<200x100xf32>,
// CHECK:         memref.load %[[STEP]][]
// CHECK:         arith.divf {{.*}} : f64
// CHECK:         arith.divf {{.*}} : f64
// CHECK:         scf.parallel
// CHECK-NOT:       : f64
// CHECK:           math.sqrt {{.*}} : vector<16xf32>
func.func @main(%g: memref<200x100xf32>, %lr: memref<f32>, %step: memref<i64>, %w: memref<200x100xf32>, %m: memref<200x100xf32>, %v: memref<200x100xf32>) {
  smet.dense_adam_step ins(%g, %lr, %step : memref<200x100xf32>, memref<f32>, memref<i64>)
    outs(%w, %m, %v : memref<200x100xf32>, memref<200x100xf32>, memref<200x100xf32>) {adamw = #smet.adamw<>}
  return
}

// -----

// A block has its age; one that is as old as the run takes the corrections that are there. lr / sqrt(density) in double.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[AGE:[a-z0-9]*]]: memref<?xi16>)
// CHECK-DAG:     %[[MAX:.*]] = arith.constant 65535 : i32
// CHECK:         math.sqrt %{{.*}} : f64
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK:             %[[OLD:.*]] = memref.load %[[AGE]]
// CHECK:             %[[WIDE:.*]] = arith.extui %[[OLD]] : i16 to i32
// CHECK:             %[[NEXT:.*]] = arith.minui %{{.*}}, %[[MAX]] : i32
// CHECK:             arith.cmpi eq
// CHECK:             scf.if
// CHECK:             arith.trunci %[[NEXT]] : i32 to i16
// CHECK:             memref.store %{{.*}}, %[[AGE]]
// CHECK:             math.sqrt {{.*}} : vector<16xf32>
!t = !smet.topology<32x64, block = [4, 8], nnz = ?>
!w = memref<?x4x8xf32>
func.func @main(%p: memref<9xi32>, %c: memref<?xi16>, %tp: memref<9xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %g: !w, %lr: memref<f32>, %step: memref<i64>, %w: !w, %m: !w, %v: !w, %age: memref<?xi16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : memref<9xi32>, memref<?xi16>, memref<9xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.adam_step ins(%t, %g, %lr, %step : !t, !w, memref<f32>, memref<i64>) outs(%w, %m, %v, %age : !w, !w, !w, memref<?xi16>) {adamw = #smet.adamw<>}
  return
}
