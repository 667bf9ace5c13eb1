// RUN: smet-opt %s -smet-convert-kernels-to-reference | FileCheck %s
// RUN: smet-opt %s -smet-convert-kernels-to-reference -sparsification-and-bufferization -canonicalize -cse | FileCheck %s --check-prefix=LOOPS

// SDDMM and the optimizer walk the storage: no linalg on sparse tensors, whose SDDMM forms are unsafe.
!t = !smet.topology<36x60, block = [4, 2], nnz = ?>

// LOOPS-NOT: {{sparse_tensor|bufferization|memref.alloc|memref.copy|tensor<}}

// CHECK-LABEL: func.func @sddmm
// CHECK-SAME:    %[[DW:[^:]*]]: memref<?x4x2xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         %[[A:.*]] = sparse_tensor.assemble
// CHECK:         %[[P:.*]] = sparse_tensor.positions %[[A]] {level = 1 : index}
// CHECK:         %[[C:.*]] = sparse_tensor.coordinates %[[A]] {level = 1 : index}
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           scf.for %[[S:.*]] =
// CHECK:             scf.for %[[R:.*]] =
// CHECK:               scf.for %[[K:.*]] =
// CHECK:                 %[[SUM:.*]] = scf.for %{{.*}} iter_args
// CHECK:                 memref.store %[[SUM]], %[[DW]][%[[S]], %[[R]], %[[K]]]
func.func @sddmm(%p: memref<10xi32>, %c: memref<?xi16>, %tp: memref<31xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                 %x: memref<5x60xf32>, %dy: memref<5x36xf32>, %dw: memref<?x4x2xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : memref<10xi32>, memref<?xi16>, memref<31xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.sddmm ins(%t, %x, %dy : !t, memref<5x60xf32>, memref<5x36xf32>) outs(%dw : memref<?x4x2xf32>)
  return
}

// Powers of beta are computed in double; the age saturates.
// CHECK-LABEL: func.func @adam
// CHECK-SAME:    %[[AGE:[^:]*]]: memref<?xi16>)
// CHECK-DAG:     %[[MAX:.*]] = arith.constant 65535 : index
// CHECK:         %[[A:.*]] = arith.minui %{{.*}}, %[[MAX]] : index
// CHECK:         %[[NARROW:.*]] = arith.index_cast %[[A]] : index to i16
// CHECK:         memref.store %[[NARROW]], %[[AGE]]
// CHECK:         arith.cmpi eq, %[[A]],
// CHECK:         math.powf {{.*}} : f64
// CHECK:         math.powf {{.*}} : f64
func.func @adam(%p: memref<10xi32>, %c: memref<?xi16>, %tp: memref<31xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %g: memref<?x4x2xf32>, %lr: memref<f32>, %step: memref<i64>, %w: memref<?x4x2xf32>, %m: memref<?x4x2xf32>,
                %v: memref<?x4x2xf32>, %age: memref<?xi16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : memref<10xi32>, memref<?xi16>, memref<31xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.adam_step ins(%t, %g, %lr, %step : !t, memref<?x4x2xf32>, memref<f32>, memref<i64>)
    outs(%w, %m, %v, %age : memref<?x4x2xf32>, memref<?x4x2xf32>, memref<?x4x2xf32>, memref<?xi16>) {adamw = #smet.adamw<>}
  return
}
