// RUN: smet-opt %s -smet-fuse-loss -split-input-file | FileCheck %s

// The constant dloss moves before the fused op, which stands where the loss stood and writes where the loss was written.
// CHECK-LABEL: func.func @fused
// CHECK-SAME:    %[[X:.*]]: tensor<64x8xf32>, %[[W:.*]]: tensor<32x8xf32>, %[[T:.*]]: tensor<64xi32>, %[[N:.*]]: tensor<i32>, %[[OUT:.*]]: tensor<f32>)
// CHECK:         %[[ONE:.*]] = nn.fill
// CHECK:         %[[E0:.*]] = tensor.empty() : tensor<64x8xf32>
// CHECK:         %[[E1:.*]] = tensor.empty() : tensor<32x8xf32>
// CHECK:         %[[R:.*]]:3 = nn.linear_cross_entropy_with_grad ins(%[[X]], %[[W]], %[[T]], %[[N]], %[[ONE]] : {{.*}}) outs(%[[OUT]], %[[E0]], %[[E1]] :
// CHECK-NEXT:    smet.check_finite %[[R]]#0
// CHECK-NOT:     nn.
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @fused(%x: tensor<64x8xf32>, %w: tensor<32x8xf32>, %t: tensor<64xi32>, %n: tensor<i32>, %out: tensor<f32>)
    -> (tensor<f32>, tensor<64x8xf32>, tensor<32x8xf32>) {
  %e0 = tensor.empty() : tensor<64xf32>
  %loss, %lse = nn.linear_cross_entropy ins(%x, %w, %t, %n : tensor<64x8xf32>, tensor<32x8xf32>, tensor<64xi32>, tensor<i32>)
      outs(%out, %e0 : tensor<f32>, tensor<64xf32>) -> tensor<f32>, tensor<64xf32>
  smet.check_finite %loss : tensor<f32>
  %e1 = tensor.empty() : tensor<f32>
  %one = nn.fill outs(%e1 : tensor<f32>) {value = 1.0 : f64} -> tensor<f32>
  %e2 = tensor.empty() : tensor<64x8xf32>
  %e3 = tensor.empty() : tensor<32x8xf32>
  %dx, %dw = nn.linear_cross_entropy_grad
      ins(%x, %w, %t, %n, %lse, %one : tensor<64x8xf32>, tensor<32x8xf32>, tensor<64xi32>, tensor<i32>, tensor<64xf32>, tensor<f32>)
      outs(%e2, %e3 : tensor<64x8xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>, tensor<32x8xf32>
  return %loss, %dx, %dw : tensor<f32>, tensor<64x8xf32>, tensor<32x8xf32>
}

// -----

// dloss is an argument. The log-sum-exp is read by someone else: nothing is fused.
// CHECK-LABEL: func.func @read
// CHECK:         nn.linear_cross_entropy ins
// CHECK:         nn.linear_cross_entropy_grad
func.func @read(%x: tensor<64x8xf32>, %w: tensor<32x8xf32>, %t: tensor<64xi32>, %n: tensor<i32>, %dloss: tensor<f32>)
    -> (tensor<64xf32>, tensor<64x8xf32>, tensor<32x8xf32>) {
  %e = tensor.empty() : tensor<f32>
  %e0 = tensor.empty() : tensor<64xf32>
  %loss, %lse = nn.linear_cross_entropy ins(%x, %w, %t, %n : tensor<64x8xf32>, tensor<32x8xf32>, tensor<64xi32>, tensor<i32>)
      outs(%e, %e0 : tensor<f32>, tensor<64xf32>) -> tensor<f32>, tensor<64xf32>
  %e2 = tensor.empty() : tensor<64x8xf32>
  %e3 = tensor.empty() : tensor<32x8xf32>
  %dx, %dw = nn.linear_cross_entropy_grad
      ins(%x, %w, %t, %n, %lse, %dloss : tensor<64x8xf32>, tensor<32x8xf32>, tensor<64xi32>, tensor<i32>, tensor<64xf32>, tensor<f32>)
      outs(%e2, %e3 : tensor<64x8xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>, tensor<32x8xf32>
  return %lse, %dx, %dw : tensor<64xf32>, tensor<64x8xf32>, tensor<32x8xf32>
}

// -----

// dloss is computed from the loss: nothing is fused.
// CHECK-LABEL: func.func @later
// CHECK:         nn.linear_cross_entropy ins
// CHECK:         nn.linear_cross_entropy_grad
func.func @later(%x: tensor<64x8xf32>, %w: tensor<32x8xf32>, %t: tensor<64xi32>, %n: tensor<i32>)
    -> (tensor<64x8xf32>, tensor<32x8xf32>) {
  %e = tensor.empty() : tensor<f32>
  %e0 = tensor.empty() : tensor<64xf32>
  %loss, %lse = nn.linear_cross_entropy ins(%x, %w, %t, %n : tensor<64x8xf32>, tensor<32x8xf32>, tensor<64xi32>, tensor<i32>)
      outs(%e, %e0 : tensor<f32>, tensor<64xf32>) -> tensor<f32>, tensor<64xf32>
  %e1 = tensor.empty() : tensor<f32>
  %double = nn.add ins(%loss, %loss : tensor<f32>, tensor<f32>) outs(%e1 : tensor<f32>) -> tensor<f32>
  %e2 = tensor.empty() : tensor<64x8xf32>
  %e3 = tensor.empty() : tensor<32x8xf32>
  %dx, %dw = nn.linear_cross_entropy_grad
      ins(%x, %w, %t, %n, %lse, %double : tensor<64x8xf32>, tensor<32x8xf32>, tensor<64xi32>, tensor<i32>, tensor<64xf32>, tensor<f32>)
      outs(%e2, %e3 : tensor<64x8xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>, tensor<32x8xf32>
  return %dx, %dw : tensor<64x8xf32>, tensor<32x8xf32>
}
