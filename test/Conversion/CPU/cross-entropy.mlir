// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// Logits exist for one panel of the vocabulary and one tile: 128 x 64 here, whatever the vocabulary. The last panel is
// what is left of it. The tiles of a group go through the panels together, each with its maximum, sum and picked logit.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nn.
// CHECK:         memref.alloc() : memref<2xf64>
// CHECK-NOT:     memref.alloc()
// CHECK:         scf.parallel
// CHECK:           memref.alloca() {{.*}} : memref<128x64xf32>
// CHECK-COUNT-3:   memref.alloca() {{.*}} : memref<1x64xf32>
// CHECK-NOT:       memref.alloca()
// CHECK:           scf.for {{.*}} step %c128
// CHECK:             %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK:             arith.maximumf
// CHECK:             math.exp {{.*}} : vector<64xf32>
// The loss is summed over tiles in order, in double.
// CHECK:         scf.for {{.*}} -> (f64)
func.func @main(%x: memref<2x70x64xf32>, %w: memref<4500x70xf32>, %targets: memref<128xi32>, %n: memref<i32>,
                %loss: memref<f32>, %lse: memref<128xf32>) {
  nn.linear_cross_entropy
      ins(%x, %w, %targets, %n : memref<2x70x64xf32>, memref<4500x70xf32>, memref<128xi32>, memref<i32>)
      outs(%loss, %lse : memref<f32>, memref<128xf32>)
  return
}

// -----

// Chunks of tiles in order, here one of both tiles: the logits, in parallel over panels; dz; dw in parallel over parts of
// it, tiles in order; dx in parallel over tiles and parts of its features. The scratch is a chunk's logits and x transposed.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nn.
// CHECK:         memref.alloc() : memref<2x128x64xf32>
// CHECK:         scf.parallel
// CHECK:           vector.shuffle
// CHECK:         memref.alloc() : memref<2x4500x64xf32>
// CHECK-NOT:     memref.alloc()
// CHECK:         scf.parallel
// CHECK:           %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK-NOT:       math.exp
// CHECK:         scf.parallel
// CHECK:           math.exp {{.*}} : vector<64xf32>
// CHECK:         scf.parallel
// CHECK:           %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
func.func @main(%x: memref<2x70x64xf32>, %w: memref<4500x70xf32>, %targets: memref<128xi32>, %n: memref<i32>,
                %lse: memref<128xf32>, %dloss: memref<f32>, %dx: memref<2x70x64xf32>, %dw: memref<4500x70xf32>) {
  nn.linear_cross_entropy_grad
      ins(%x, %w, %targets, %n, %lse, %dloss
          : memref<2x70x64xf32>, memref<4500x70xf32>, memref<128xi32>, memref<i32>, memref<128xf32>, memref<f32>)
      outs(%dx, %dw : memref<2x70x64xf32>, memref<4500x70xf32>)
  return
}
