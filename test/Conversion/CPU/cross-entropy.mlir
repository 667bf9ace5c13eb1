// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// Logits exist for one panel of the vocabulary and one tile: 256 x 64 here, whatever the vocabulary. The last panel is
// what is left of it.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nn.
// CHECK:         memref.alloc() : memref<2xf64>
// CHECK-NOT:     memref.alloc()
// CHECK:         scf.parallel
// CHECK:           memref.alloca() {{.*}} : memref<256x64xf32>
// CHECK:           %{{.*}}:2 = scf.for {{.*}} iter_args({{.*}}) -> (vector<64xf32>, vector<64xf32>)
// CHECK:             smet.gemm {{.*}} memref<256x32xf32,
// CHECK:             arith.maximumf
// CHECK:             math.exp {{.*}} : vector<64xf32>
// CHECK:           smet.gemm {{.*}} memref<76x32xf32,
// The loss is summed over tiles in order, in double.
// CHECK:         scf.for {{.*}} -> (f64)
func.func @main(%x: memref<2x32x64xf32>, %w: memref<1100x32xf32>, %targets: memref<128xi32>, %n: memref<i32>,
                %loss: memref<f32>, %lse: memref<128xf32>) {
  nn.linear_cross_entropy
      ins(%x, %w, %targets, %n : memref<2x32x64xf32>, memref<1100x32xf32>, memref<128xi32>, memref<i32>)
      outs(%loss, %lse : memref<f32>, memref<128xf32>)
  return
}

// -----

// Panels in order; of each, dz and its share of dx in parallel over tiles, then dw in parallel over rows, tiles in order.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nn.
// CHECK:         memref.alloc() : memref<2x512x64xf32>
// CHECK-NOT:     memref.alloc()
// CHECK:         scf.for
// CHECK:           scf.parallel
// CHECK:             smet.gemm {{.*}}beta = 0.0
// CHECK:             math.exp {{.*}} : vector<64xf32>
// CHECK:             smet.gemm {{.*}}beta = 1.0{{.*}}transpose_a
// CHECK:           scf.parallel
// CHECK:             smet.gemm {{.*}}beta = 0.0{{.*}}transpose_b
// CHECK:             smet.gemm {{.*}}beta = 1.0{{.*}}transpose_b
func.func @main(%x: memref<2x32x64xf32>, %w: memref<1100x32xf32>, %targets: memref<128xi32>, %n: memref<i32>,
                %lse: memref<128xf32>, %dloss: memref<f32>, %dx: memref<2x32x64xf32>, %dw: memref<1100x32xf32>) {
  nn.linear_cross_entropy_grad
      ins(%x, %w, %targets, %n, %lse, %dloss
          : memref<2x32x64xf32>, memref<1100x32xf32>, memref<128xi32>, memref<i32>, memref<128xf32>, memref<f32>)
      outs(%dx, %dw : memref<2x32x64xf32>, memref<1100x32xf32>)
  return
}
