// Odd but valid: no tokens, one token, unknown and huge sizes, ranks that an elementwise op takes.
// RUN: smet-opt %s -canonicalize | smet-opt -canonicalize | FileCheck %s

// CHECK-LABEL: @no_tokens
// CHECK: nn.rope
// CHECK: nn.attention
// CHECK: nn.pack
func.func @no_tokens(%x: memref<0x32xf32>, %k: memref<0x16xf32>, %lse: memref<4x0xf32>, %p: memref<0x32x64xf32>) {
  nn.rope ins(%x : memref<0x32xf32>) outs(%x : memref<0x32xf32>) {head_dim = 8 : i64, seq_len = 64 : i64, theta = 1.0e4 : f64}
  nn.attention ins(%x, %k, %k : memref<0x32xf32>, memref<0x16xf32>, memref<0x16xf32>) outs(%x, %lse : memref<0x32xf32>, memref<4x0xf32>)
    {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64}
  nn.pack ins(%x : memref<0x32xf32>) outs(%p : memref<0x32x64xf32>)
  return
}

// CHECK-LABEL: @no_features
// CHECK: nn.rms_norm
func.func @no_features(%x: memref<8x0xf32>, %g: memref<0xf32>) {
  nn.rms_norm ins(%x, %g : memref<8x0xf32>, memref<0xf32>) outs(%x : memref<8x0xf32>) {eps = 0.0 : f64}
  return
}

// CHECK-LABEL: @unknown
// CHECK: nn.attention
// CHECK: nn.rope
// CHECK: nn.linear_cross_entropy
func.func @unknown(%x: tensor<?x?xf32>, %p: tensor<?x?x?xf32>, %t: tensor<?xi32>, %n: tensor<i32>, %loss: tensor<f32>, %lse: tensor<?xf32>, %l: tensor<?x?xf32>)
    -> (tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<f32>) {
  %0:2 = nn.attention ins(%x, %x, %x : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) outs(%x, %l : tensor<?x?xf32>, tensor<?x?xf32>)
    {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64} -> tensor<?x?xf32>, tensor<?x?xf32>
  %1 = nn.rope ins(%p : tensor<?x?x?xf32>) outs(%p : tensor<?x?x?xf32>) {head_dim = 8 : i64, seq_len = 9223372036854775807 : i64, theta = 1.0e4 : f64} -> tensor<?x?x?xf32>
  %2:2 = nn.linear_cross_entropy ins(%x, %l, %t, %n : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xi32>, tensor<i32>)
    outs(%loss, %lse : tensor<f32>, tensor<?xf32>) -> tensor<f32>, tensor<?xf32>
  return %0#0, %1, %2#0 : tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<f32>
}

// CHECK-LABEL: @huge
// CHECK: nn.rope
// CHECK: nn.unpack
func.func @huge(%x: memref<9223372036854775807x2x9223372036854775807xf32>, %y: memref<9223372036854775807x2xf32>, %z: memref<1x2x9223372036854775807xf32>) {
  nn.rope ins(%x : memref<9223372036854775807x2x9223372036854775807xf32>) outs(%x : memref<9223372036854775807x2x9223372036854775807xf32>)
    {head_dim = 2 : i64, seq_len = 3 : i64, theta = 1.0e4 : f64}
  nn.unpack ins(%z : memref<1x2x9223372036854775807xf32>) outs(%y : memref<9223372036854775807x2xf32>)
  return
}

// CHECK-LABEL: @any_rank
// CHECK-NEXT: return %{{.*}}, %{{.*}} : tensor<f64>, tensor<2x3x4x5xbf16>
func.func @any_rank(%a: tensor<f64>, %b: tensor<2x3x4x5xbf16>) -> (tensor<f64>, tensor<2x3x4x5xbf16>) {
  %zero0 = arith.constant dense<0.0> : tensor<f64>
  %zero1 = arith.constant dense<-0.0> : tensor<2x3x4x5xbf16>
  %e0 = tensor.empty() : tensor<f64>
  %e1 = tensor.empty() : tensor<2x3x4x5xbf16>
  %0 = nn.add ins(%a, %zero0 : tensor<f64>, tensor<f64>) outs(%e0 : tensor<f64>) -> tensor<f64>
  %1 = nn.add ins(%zero1, %b : tensor<2x3x4x5xbf16>, tensor<2x3x4x5xbf16>) outs(%e1 : tensor<2x3x4x5xbf16>) -> tensor<2x3x4x5xbf16>
  return %0, %1 : tensor<f64>, tensor<2x3x4x5xbf16>
}
