// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// The 70 tokens of [T, F] fill one tile and six lanes of the next; the other lanes are zero. Unpacking leaves them out.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:.*]]: memref<70x32xf32>, %[[Y:.*]]: memref<2x32x64xf32>, %[[I:.*]]: memref<i32>, %[[Z:.*]]: memref<1x32x16xf32>)
// CHECK-DAG:     %[[TOKENS:.*]] = arith.constant 70 : index
// CHECK:         scf.parallel (%[[TILE:.*]]) =
// CHECK:           arith.subi %[[TOKENS]],
// CHECK:           %[[COUNT:.*]] = arith.minui
// CHECK:           scf.for
// CHECK:             vector.store %{{.*}}, %[[Y]][%[[TILE]], {{.*}} vector<64xf32>
// CHECK:             scf.for %{{.*}} to %[[COUNT]]
// CHECK:               memref.load %[[X]]
// CHECK:               memref.store %{{.*}}, %[[Y]][%[[TILE]],
// CHECK:         scf.parallel
// CHECK:           %[[COUNT:.*]] = arith.minui
// CHECK:           scf.for %{{.*}} to %[[COUNT]]
// CHECK:               memref.load %[[Y]]
// CHECK:               memref.store %{{.*}}, %[[X]]
// The chosen token stands in every lane.
// CHECK:         memref.load %[[I]][]
// CHECK:           %[[V:.*]] = memref.load %[[Y]]
// CHECK:           vector.broadcast %[[V]] : f32 to vector<16xf32>
// CHECK:           vector.store %{{.*}}, %[[Z]]
func.func @main(%x: memref<70x32xf32>, %y: memref<2x32x64xf32>, %i: memref<i32>, %z: memref<1x32x16xf32>) {
  nn.pack ins(%x : memref<70x32xf32>) outs(%y : memref<2x32x64xf32>)
  nn.unpack ins(%y : memref<2x32x64xf32>) outs(%x : memref<70x32xf32>)
  nn.select_token ins(%y, %i : memref<2x32x64xf32>, memref<i32>) outs(%z : memref<1x32x16xf32>)
  return
}
