// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// Pieces of 8,192 elements in vectors; any shape is one row of elements.

// CHECK-LABEL: func.func @main(
// CHECK-DAG:     %[[ITEMS:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[PIECE:.*]] = arith.constant 8192 : index
// CHECK-DAG:     %[[N:.*]] = arith.constant 20000 : index
// CHECK:         scf.parallel (%[[I:.*]]) = {{.*}} to (%[[ITEMS]])
// CHECK:           %[[BEGIN:.*]] = arith.muli %[[I]], %[[PIECE]]
// CHECK:           %[[NEXT:.*]] = arith.addi %[[BEGIN]], %[[PIECE]]
// CHECK:           %[[END:.*]] = arith.minui %[[NEXT]], %[[N]]
// CHECK:           scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:             arith.addf {{.*}} : vector<16xf32>
func.func @main(%a: memref<20x1000xf32>, %b: memref<20x1000xf32>, %c: memref<20x1000xf32>) {
  nn.add ins(%a, %b : memref<20x1000xf32>, memref<20x1000xf32>) outs(%c : memref<20x1000xf32>)
  return
}

// -----

// What no vector fits goes one by one.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     vector
// CHECK:         scf.for
// CHECK:           %[[N:.*]] = arith.negf %[[GATE:.*]] : f32
// CHECK:           %[[E:.*]] = math.exp %[[N]] : f32
// CHECK:           %[[D:.*]] = arith.addf %[[E]],
// CHECK:           %[[S:.*]] = arith.divf %{{.*}}, %[[D]]
// CHECK:           %[[G:.*]] = arith.mulf %[[GATE]], %[[S]]
// CHECK:           arith.mulf %[[G]],
func.func @main(%g: memref<3x5xf32>, %u: memref<3x5xf32>, %y: memref<3x5xf32>) {
  nn.silu_mul ins(%g, %u : memref<3x5xf32>, memref<3x5xf32>) outs(%y : memref<3x5xf32>)
  return
}

// -----

// Both gradients in one walk over the elements.

// CHECK-LABEL: func.func @main(
// CHECK:         scf.for
// CHECK-COUNT-3:   vector.load
// CHECK:           math.exp {{.*}} : vector<16xf32>
// CHECK-NOT:       math.exp
// CHECK-COUNT-2:   vector.store
// CHECK-NOT:       vector.store
func.func @main(%g: memref<1x64x64xf32>, %u: memref<1x64x64xf32>, %dy: memref<1x64x64xf32>, %dg: memref<1x64x64xf32>, %du: memref<1x64x64xf32>) {
  nn.silu_mul_grad ins(%g, %u, %dy : memref<1x64x64xf32>, memref<1x64x64xf32>, memref<1x64x64xf32>)
    outs(%dg, %du : memref<1x64x64xf32>, memref<1x64x64xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK:         %[[V:.*]] = arith.constant 3.500000e+00 : f32
// CHECK:         memref.store %[[V]], %{{.*}} : memref<12xf32>
func.func @main(%x: memref<3x4xf32>) {
  nn.fill outs(%x : memref<3x4xf32>) {value = 3.5 : f64}
  return
}
