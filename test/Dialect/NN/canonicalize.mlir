// RUN: smet-opt %s -canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: @add_zero
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8x64xf32>
// CHECK-NEXT: return %[[A]], %[[A]]
func.func @add_zero(%a: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %e0 = tensor.empty() : tensor<8x64xf32>
  %e1 = tensor.empty() : tensor<8x64xf32>
  %e2 = tensor.empty() : tensor<8x64xf32>
  %filled = nn.fill outs(%e0 : tensor<8x64xf32>) {value = 0.0 : f64} -> tensor<8x64xf32>
  %constant = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = nn.add ins(%a, %filled : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e1 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = nn.add ins(%constant, %a : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e2 : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0, %1 : tensor<8x64xf32>, tensor<8x64xf32>
}

// What is bound to an argument must be written there, ones are not zeros, and another type needs a cast.
// CHECK-LABEL: @keep_add
// CHECK-COUNT-3: nn.add
func.func @keep_add(%a: tensor<8x64xf32>, %out: tensor<8x64xf32>, %d: tensor<?x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %e0 = tensor.empty() : tensor<8x64xf32>
  %e1 = tensor.empty() : tensor<8x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %one = arith.constant dense<1.0> : tensor<8x64xf32>
  %0 = nn.add ins(%a, %zero : tensor<8x64xf32>, tensor<8x64xf32>) outs(%out : tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = nn.add ins(%a, %one : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e0 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = nn.add ins(%d, %zero : tensor<?x64xf32>, tensor<8x64xf32>) outs(%e1 : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0, %1, %2 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// CHECK-LABEL: @rope_and_back
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x64xf32>
// CHECK-NEXT: return %[[X]]
func.func @rope_and_back(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %e0 = tensor.empty() : tensor<8x64xf32>
  %e1 = tensor.empty() : tensor<8x64xf32>
  %0 = nn.rope ins(%x : tensor<8x64xf32>) outs(%e0 : tensor<8x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.0e4 : f64} -> tensor<8x64xf32>
  %1 = nn.rope ins(%0 : tensor<8x64xf32>) outs(%e1 : tensor<8x64xf32>) {head_dim = 16 : i64, inverse, seq_len = 8 : i64, theta = 1.0e4 : f64} -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}

// The same direction twice, and other angles.
// CHECK-LABEL: @keep_rope
// CHECK-COUNT-5: nn.rope
func.func @keep_rope(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %e0 = tensor.empty() : tensor<8x64xf32>
  %e1 = tensor.empty() : tensor<8x64xf32>
  %e2 = tensor.empty() : tensor<8x64xf32>
  %e3 = tensor.empty() : tensor<8x64xf32>
  %e4 = tensor.empty() : tensor<8x64xf32>
  %0 = nn.rope ins(%x : tensor<8x64xf32>) outs(%e0 : tensor<8x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.0e4 : f64} -> tensor<8x64xf32>
  %1 = nn.rope ins(%0 : tensor<8x64xf32>) outs(%e1 : tensor<8x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.0e4 : f64} -> tensor<8x64xf32>
  %2 = nn.rope ins(%0 : tensor<8x64xf32>) outs(%e2 : tensor<8x64xf32>) {head_dim = 32 : i64, inverse, seq_len = 8 : i64, theta = 1.0e4 : f64} -> tensor<8x64xf32>
  %3 = nn.rope ins(%0 : tensor<8x64xf32>) outs(%e3 : tensor<8x64xf32>) {head_dim = 16 : i64, inverse, seq_len = 4 : i64, theta = 1.0e4 : f64} -> tensor<8x64xf32>
  %4 = nn.rope ins(%0 : tensor<8x64xf32>) outs(%e4 : tensor<8x64xf32>) {head_dim = 16 : i64, inverse, seq_len = 8 : i64, theta = 5.0e5 : f64} -> tensor<8x64xf32>
  return %1, %2, %3, %4 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// CHECK-LABEL: @unpack_of_pack
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<100x32xf32>
// CHECK-NEXT: return %[[X]]
func.func @unpack_of_pack(%x: tensor<100x32xf32>) -> tensor<100x32xf32> {
  %e0 = tensor.empty() : tensor<2x32x64xf32>
  %e1 = tensor.empty() : tensor<100x32xf32>
  %0 = nn.pack ins(%x : tensor<100x32xf32>) outs(%e0 : tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
  %1 = nn.unpack ins(%0 : tensor<2x32x64xf32>) outs(%e1 : tensor<100x32xf32>) -> tensor<100x32xf32>
  return %1 : tensor<100x32xf32>
}

// 101 tokens are not the 100 that were packed, and an argument must be written.
// CHECK-LABEL: @keep_unpack
// CHECK-COUNT-2: nn.unpack
func.func @keep_unpack(%x: tensor<100x32xf32>, %out: tensor<100x32xf32>) -> (tensor<101x32xf32>, tensor<100x32xf32>) {
  %e0 = tensor.empty() : tensor<2x32x64xf32>
  %e1 = tensor.empty() : tensor<101x32xf32>
  %0 = nn.pack ins(%x : tensor<100x32xf32>) outs(%e0 : tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
  %1 = nn.unpack ins(%0 : tensor<2x32x64xf32>) outs(%e1 : tensor<101x32xf32>) -> tensor<101x32xf32>
  %2 = nn.unpack ins(%0 : tensor<2x32x64xf32>) outs(%out : tensor<100x32xf32>) -> tensor<100x32xf32>
  return %1, %2 : tensor<101x32xf32>, tensor<100x32xf32>
}
