// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// The magnitude of a block in vectors; of blocks of one weight, lanes are slots.

// CHECK-LABEL: func.func @main(
// CHECK:         scf.parallel
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} -> (vector<16xf32>)
// CHECK:             math.absf
// CHECK:           %[[S:.*]] = vector.reduction <add>, %[[SUM]]
// CHECK:           memref.store %[[S]]
// CHECK:         scf.parallel
// CHECK:           math.absf {{.*}} : vector<16xf32>
// CHECK:           math.absf {{.*}} : f32
func.func @main(%v: memref<?x16x16xf32>, %s: memref<?xf32>, %v1: memref<?x1x1xf32>) {
  smet.score ins(%v : memref<?x16x16xf32>) outs(%s : memref<?xf32>)
  smet.score ins(%v1 : memref<?x1x1xf32>) outs(%s : memref<?xf32>)
  return
}

// -----

// Export and import walk the rows of blocks; only an export writes zeros.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: memref<3xi32>, %[[C:[a-z0-9]+]]: memref<?xi16>, {{.*}}, %[[V:[a-z0-9]+]]: memref<?x16x16xf32>, %[[D:[a-z0-9]+]]: memref<32x64xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         scf.parallel
// CHECK:           memref.store %[[ZERO]], %[[D]]
// CHECK:           memref.load %[[P]]
// CHECK:           memref.load %[[C]]
// CHECK:           %[[E:.*]] = memref.load %[[V]]
// CHECK:           memref.store %[[E]], %[[D]]
// CHECK:         scf.parallel
// CHECK-NOT:       memref.store %[[ZERO]]
// CHECK:           %[[E:.*]] = memref.load %[[D]]
// CHECK:           memref.store %[[E]], %[[V]]
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %v: memref<?x16x16xf32>, %d: memref<32x64xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.to_dense ins(%t, %v : !t, memref<?x16x16xf32>) outs(%d : memref<32x64xf32>)
  smet.from_dense ins(%t, %d : !t, memref<32x64xf32>) outs(%v : memref<?x16x16xf32>)
  return
}
