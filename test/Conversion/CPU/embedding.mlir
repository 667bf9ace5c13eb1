// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// Rows of the table become columns of lanes; lanes behind the last token are zero.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[TABLE:.*]]: memref<48x32xf32>, %[[IDS:.*]]: memref<100xi32>, %[[X:.*]]: memref<2x32x64xf32>)
// CHECK-DAG:     %[[TOKENS:.*]] = arith.constant 100 : index
// CHECK:         scf.parallel (%[[TILE:.*]]) =
// CHECK:           vector.store %{{.*}}, %[[X]][%[[TILE]], {{.*}} vector<64xf32>
// CHECK:           arith.subi %[[TOKENS]],
// CHECK:           %[[COUNT:.*]] = arith.minui
// CHECK:           scf.for %[[LANE:.*]] = {{.*}} to %[[COUNT]]
// CHECK:             %[[ID:.*]] = memref.load %[[IDS]]
// CHECK:             %[[ROW:.*]] = arith.index_castui %[[ID]]
// CHECK:             scf.for %[[F:.*]] =
// CHECK:               %[[V:.*]] = memref.load %[[TABLE]][%[[ROW]], %[[F]]]
// CHECK:               memref.store %[[V]], %[[X]][%[[TILE]], %[[F]], %[[LANE]]]
func.func @main(%table: memref<48x32xf32>, %ids: memref<100xi32>, %x: memref<2x32x64xf32>) {
  nn.embedding ins(%table, %ids : memref<48x32xf32>, memref<100xi32>) outs(%x : memref<2x32x64xf32>)
  return
}

// -----

// Parallel over 64 features at a time, tokens in order: one writer of an element, one order of its sum.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[DX:.*]]: memref<2x96x64xf32>, %[[IDS:.*]]: memref<128xi32>, %[[DT:.*]]: memref<48x96xf32>)
// CHECK-DAG:     %[[TWO:.*]] = arith.constant 2 : index
// CHECK:         memref.store %{{.*}} : memref<4608xf32>
// CHECK:         scf.parallel {{.*}} to (%[[TWO]])
// CHECK:           scf.for %[[T:.*]] =
// CHECK:             memref.load %[[IDS]][%[[T]]]
// CHECK:             scf.for
// CHECK:               memref.load %[[DT]]
// CHECK:               memref.load %[[DX]]
// CHECK:               arith.addf
// CHECK:               memref.store %{{.*}}, %[[DT]]
func.func @main(%dx: memref<2x96x64xf32>, %ids: memref<128xi32>, %dt: memref<48x96xf32>) {
  nn.embedding_grad ins(%dx, %ids : memref<2x96x64xf32>, memref<128xi32>) outs(%dt : memref<48x96xf32>)
  return
}
