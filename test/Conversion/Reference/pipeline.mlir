// RUN: smet-opt %s -smet-to-reference | FileCheck %s

// A kernel module after the whole pipeline: loops on memrefs; the scratch of the loss lives in the arena.
!t = !smet.topology<32x64, block = [16, 16], nnz = 3>

// CHECK-NOT:   {{sparse_tensor|linalg.[a-z]+ |bufferization|memref.alloc|tensor<}}
// CHECK:       func.func @main(%{{.*}}: memref<{{[0-9]+}}xi8>)
// CHECK-NOT:   {{sparse_tensor|linalg.[a-z]+ |bufferization|memref.alloc|tensor<}}
// CHECK:       module @[[SPMM:k_smet_spmm_[0-9a-f]+]]
// CHECK-NOT:   {{sparse_tensor|linalg.[a-z]+ |bufferization|memref.alloc|tensor<}}
// CHECK:       module @[[LOSS:k_nn_linear_cross_entropy_[0-9a-f]+]]
// CHECK:         func.func @main({{.*}}memref<50xf32>
// CHECK-NOT:   {{sparse_tensor|linalg.[a-z]+ |bufferization|memref.alloc|tensor<}}
func.func @main(%t: !t {smet.name = "t", smet.role = "topology", bufferization.writable = false},
                %w: tensor<3x16x16xf32> {smet.name = "w", smet.role = "param", bufferization.writable = false},
                %x: tensor<8x64xf32> {smet.name = "x", smet.role = "input", bufferization.writable = false},
                %head: tensor<50x32xf32> {smet.name = "head", smet.role = "param", bufferization.writable = false},
                %ids: tensor<8xi32> {smet.name = "ids", smet.role = "input", bufferization.writable = false},
                %n: tensor<i32> {smet.name = "n", smet.role = "input", bufferization.writable = false},
                %loss: tensor<f32> {smet.name = "loss", smet.role = "output", bufferization.writable = true})
    -> (tensor<f32> {smet.name = "loss"}) {
  %e = tensor.empty() : tensor<8x32xf32>
  %y = smet.spmm ins(%t, %w, %x : !t, tensor<3x16x16xf32>, tensor<8x64xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %s = tensor.empty() : tensor<8xf32>
  %r:2 = nn.linear_cross_entropy ins(%y, %head, %ids, %n : tensor<8x32xf32>, tensor<50x32xf32>, tensor<8xi32>, tensor<i32>)
    outs(%loss, %s : tensor<f32>, tensor<8xf32>) -> tensor<f32>, tensor<8xf32>
  return %r#0 : tensor<f32>
}
