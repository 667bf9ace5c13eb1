// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// The angles are constants of the program, one table per head size, length and base; the inverse negates the sine.

// CHECK-DAG:     memref.global "private" constant @rope_cos : memref<2x64xf32>
// CHECK-DAG:     memref.global "private" constant @rope_sin : memref<2x64xf32>
// Of one frequency and positions 0, 1, ...: cos(0), cos(1), ... and sin(0), sin(1), ...
// CHECK-DAG:     memref.global "private" constant @rope_cos_1 : memref<1x64xf32> = dense<{{\[\[}}1.000000e+00, 0.540302{{[0-9]*}}, -0.416146{{[0-9]*}},
// CHECK-DAG:     memref.global "private" constant @rope_sin_1 : memref<1x64xf32> = dense<{{\[\[}}0.000000e+00, 0.841470{{[0-9]*}}, 0.909297{{[0-9]*}},
// CHECK-NOT:     memref.global
// CHECK-LABEL: func.func @main(
// CHECK-DAG:     memref.get_global @rope_cos : memref<2x64xf32>
// CHECK-DAG:     memref.get_global @rope_sin : memref<2x64xf32>
// CHECK:         arith.subf {{.*}} : vector<64xf32>
// CHECK:         arith.addf {{.*}} : vector<64xf32>
// CHECK:         arith.negf {{.*}} : vector<64xf32>
// CHECK-DAG:     memref.get_global @rope_cos_1 : memref<1x64xf32>
// CHECK-DAG:     memref.get_global @rope_sin_1 : memref<1x64xf32>
func.func @main(%x: memref<1x64x64xf32>, %y: memref<1x64x64xf32>) {
  nn.rope ins(%x : memref<1x64x64xf32>) outs(%y : memref<1x64x64xf32>) {head_dim = 4 : i64, seq_len = 64 : i64, theta = 100.0 : f64}
  nn.rope ins(%y : memref<1x64x64xf32>) outs(%x : memref<1x64x64xf32>) {head_dim = 4 : i64, seq_len = 64 : i64, theta = 100.0 : f64, inverse}
  nn.rope ins(%x : memref<1x64x64xf32>) outs(%y : memref<1x64x64xf32>) {head_dim = 2 : i64, seq_len = 64 : i64, theta = 100.0 : f64}
  return
}

// -----

// One token at a position known at run time: its angles in every lane.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %{{.*}}: memref<1x64x16xf32>, %[[P:.*]]: memref<i32>,
// CHECK:         %[[LOADED:.*]] = memref.load %[[P]][]
// CHECK:         %[[POSITION:.*]] = arith.index_castui %[[LOADED]]
// CHECK:         %[[COS:.*]] = memref.load %{{.*}}[%{{.*}}, %[[POSITION]]] : memref<2x100xf32>
// CHECK:         vector.broadcast %[[COS]] : f32 to vector<16xf32>
func.func @main(%x: memref<1x64x16xf32>, %p: memref<i32>, %y: memref<1x64x16xf32>) {
  nn.rope_at ins(%x, %p : memref<1x64x16xf32>, memref<i32>) outs(%y : memref<1x64x16xf32>) {head_dim = 4 : i64, seq_len = 100 : i64, theta = 100.0 : f64}
  return
}
