// Every op with its optional parts, printed as it was written, on tensors and memrefs, through both forms.
// RUN: smet-opt %s | smet-opt | FileCheck %s
// RUN: smet-opt %s -mlir-print-op-generic | smet-opt | FileCheck %s
// RUN: smet-opt %s -emit-bytecode | smet-opt | FileCheck %s

// CHECK-LABEL: @embedding
func.func @embedding(%table: tensor<100x64xf32>, %ids: tensor<8xi32>, %e: tensor<8x64xf32>) {
  // CHECK: nn.embedding ins({{.*}} : tensor<100x64xf32>, tensor<8xi32>) outs({{.*}} : tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = nn.embedding ins(%table, %ids : tensor<100x64xf32>, tensor<8xi32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @embedding_memref
func.func @embedding_memref(%table: memref<100x64xf32>, %ids: memref<8xi32>, %e: memref<8x64xf32>) {
  // CHECK: nn.embedding ins({{.*}} : memref<100x64xf32>, memref<8xi32>) outs({{.*}} : memref<8x64xf32>)
  nn.embedding ins(%table, %ids : memref<100x64xf32>, memref<8xi32>) outs(%e : memref<8x64xf32>)
  return
}

// CHECK-LABEL: @embedding_packed
func.func @embedding_packed(%table: tensor<100x64xf32>, %ids: tensor<8xi32>, %e: tensor<1x64x8xf32>) {
  // CHECK: nn.embedding ins({{.*}} : tensor<100x64xf32>, tensor<8xi32>) outs({{.*}} : tensor<1x64x8xf32>) -> tensor<1x64x8xf32>
  %0 = nn.embedding ins(%table, %ids : tensor<100x64xf32>, tensor<8xi32>) outs(%e : tensor<1x64x8xf32>) -> tensor<1x64x8xf32>
  return
}

// CHECK-LABEL: @embedding_packed_memref
func.func @embedding_packed_memref(%table: memref<100x64xf32>, %ids: memref<8xi32>, %e: memref<1x64x8xf32>) {
  // CHECK: nn.embedding ins({{.*}} : memref<100x64xf32>, memref<8xi32>) outs({{.*}} : memref<1x64x8xf32>)
  nn.embedding ins(%table, %ids : memref<100x64xf32>, memref<8xi32>) outs(%e : memref<1x64x8xf32>)
  return
}

// CHECK-LABEL: @embedding_grad
func.func @embedding_grad(%dx: tensor<8x64xf32>, %ids: tensor<8xi32>, %e: tensor<100x64xf32>) {
  // CHECK: nn.embedding_grad ins({{.*}} : tensor<8x64xf32>, tensor<8xi32>) outs({{.*}} : tensor<100x64xf32>) -> tensor<100x64xf32>
  %0 = nn.embedding_grad ins(%dx, %ids : tensor<8x64xf32>, tensor<8xi32>) outs(%e : tensor<100x64xf32>) -> tensor<100x64xf32>
  return
}

// CHECK-LABEL: @embedding_grad_memref
func.func @embedding_grad_memref(%dx: memref<8x64xf32>, %ids: memref<8xi32>, %e: memref<100x64xf32>) {
  // CHECK: nn.embedding_grad ins({{.*}} : memref<8x64xf32>, memref<8xi32>) outs({{.*}} : memref<100x64xf32>)
  nn.embedding_grad ins(%dx, %ids : memref<8x64xf32>, memref<8xi32>) outs(%e : memref<100x64xf32>)
  return
}

// CHECK-LABEL: @rms_norm
func.func @rms_norm(%x: tensor<8x64xf32>, %g: tensor<64xf32>, %e: tensor<8x64xf32>) {
  // CHECK: nn.rms_norm ins({{.*}} : tensor<8x64xf32>, tensor<64xf32>) outs({{.*}} : tensor<8x64xf32>) {eps = 1.000000e-05 : f64} -> tensor<8x64xf32>
  %0 = nn.rms_norm ins(%x, %g : tensor<8x64xf32>, tensor<64xf32>) outs(%e : tensor<8x64xf32>) {eps = 1.000000e-05 : f64} -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @rms_norm_memref
func.func @rms_norm_memref(%x: memref<8x64xf32>, %g: memref<64xf32>, %e: memref<8x64xf32>) {
  // CHECK: nn.rms_norm ins({{.*}} : memref<8x64xf32>, memref<64xf32>) outs({{.*}} : memref<8x64xf32>) {eps = 1.000000e-05 : f64}
  nn.rms_norm ins(%x, %g : memref<8x64xf32>, memref<64xf32>) outs(%e : memref<8x64xf32>) {eps = 1.000000e-05 : f64}
  return
}

// CHECK-LABEL: @rms_norm_grad
func.func @rms_norm_grad(%x: tensor<1x64x8xf32>, %g: tensor<64xf32>, %dy: tensor<1x64x8xf32>, %e0: tensor<1x64x8xf32>, %e1: tensor<64xf32>) {
  // CHECK: nn.rms_norm_grad ins({{.*}} : tensor<1x64x8xf32>, tensor<64xf32>, tensor<1x64x8xf32>) outs({{.*}} : tensor<1x64x8xf32>, tensor<64xf32>) {eps = 1.000000e-05 : f64} -> tensor<1x64x8xf32>, tensor<64xf32>
  %0:2 = nn.rms_norm_grad ins(%x, %g, %dy : tensor<1x64x8xf32>, tensor<64xf32>, tensor<1x64x8xf32>) outs(%e0, %e1 : tensor<1x64x8xf32>, tensor<64xf32>) {eps = 1.000000e-05 : f64} -> tensor<1x64x8xf32>, tensor<64xf32>
  return
}

// CHECK-LABEL: @rms_norm_grad_memref
func.func @rms_norm_grad_memref(%x: memref<1x64x8xf32>, %g: memref<64xf32>, %dy: memref<1x64x8xf32>, %e0: memref<1x64x8xf32>, %e1: memref<64xf32>) {
  // CHECK: nn.rms_norm_grad ins({{.*}} : memref<1x64x8xf32>, memref<64xf32>, memref<1x64x8xf32>) outs({{.*}} : memref<1x64x8xf32>, memref<64xf32>) {eps = 1.000000e-05 : f64}
  nn.rms_norm_grad ins(%x, %g, %dy : memref<1x64x8xf32>, memref<64xf32>, memref<1x64x8xf32>) outs(%e0, %e1 : memref<1x64x8xf32>, memref<64xf32>) {eps = 1.000000e-05 : f64}
  return
}

// CHECK-LABEL: @rope
func.func @rope(%x: tensor<8x64xf32>, %e: tensor<8x64xf32>) {
  // CHECK: nn.rope ins({{.*}} : tensor<8x64xf32>) outs({{.*}} : tensor<8x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64} -> tensor<8x64xf32>
  %0 = nn.rope ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64} -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @rope_memref
func.func @rope_memref(%x: memref<8x64xf32>, %e: memref<8x64xf32>) {
  // CHECK: nn.rope ins({{.*}} : memref<8x64xf32>) outs({{.*}} : memref<8x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64}
  nn.rope ins(%x : memref<8x64xf32>) outs(%e : memref<8x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64}
  return
}

// CHECK-LABEL: @rope_inverse
func.func @rope_inverse(%x: tensor<1x64x8xf32>, %e: tensor<1x64x8xf32>) {
  // CHECK: nn.rope ins({{.*}} : tensor<1x64x8xf32>) outs({{.*}} : tensor<1x64x8xf32>) {head_dim = 16 : i64, inverse, seq_len = 8 : i64, theta = 1.000000e+04 : f64} -> tensor<1x64x8xf32>
  %0 = nn.rope ins(%x : tensor<1x64x8xf32>) outs(%e : tensor<1x64x8xf32>) {head_dim = 16 : i64, inverse, seq_len = 8 : i64, theta = 1.000000e+04 : f64} -> tensor<1x64x8xf32>
  return
}

// CHECK-LABEL: @rope_inverse_memref
func.func @rope_inverse_memref(%x: memref<1x64x8xf32>, %e: memref<1x64x8xf32>) {
  // CHECK: nn.rope ins({{.*}} : memref<1x64x8xf32>) outs({{.*}} : memref<1x64x8xf32>) {head_dim = 16 : i64, inverse, seq_len = 8 : i64, theta = 1.000000e+04 : f64}
  nn.rope ins(%x : memref<1x64x8xf32>) outs(%e : memref<1x64x8xf32>) {head_dim = 16 : i64, inverse, seq_len = 8 : i64, theta = 1.000000e+04 : f64}
  return
}

// CHECK-LABEL: @rope_at
func.func @rope_at(%x: tensor<1x64xf32>, %p: tensor<i32>, %e: tensor<1x64xf32>) {
  // CHECK: nn.rope_at ins({{.*}} : tensor<1x64xf32>, tensor<i32>) outs({{.*}} : tensor<1x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64} -> tensor<1x64xf32>
  %0 = nn.rope_at ins(%x, %p : tensor<1x64xf32>, tensor<i32>) outs(%e : tensor<1x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64} -> tensor<1x64xf32>
  return
}

// CHECK-LABEL: @rope_at_memref
func.func @rope_at_memref(%x: memref<1x64xf32>, %p: memref<i32>, %e: memref<1x64xf32>) {
  // CHECK: nn.rope_at ins({{.*}} : memref<1x64xf32>, memref<i32>) outs({{.*}} : memref<1x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64}
  nn.rope_at ins(%x, %p : memref<1x64xf32>, memref<i32>) outs(%e : memref<1x64xf32>) {head_dim = 16 : i64, seq_len = 8 : i64, theta = 1.000000e+04 : f64}
  return
}

// CHECK-LABEL: @silu_mul
func.func @silu_mul(%g: tensor<8x64xf32>, %u: tensor<8x64xf32>, %e: tensor<8x64xf32>) {
  // CHECK: nn.silu_mul ins({{.*}} : tensor<8x64xf32>, tensor<8x64xf32>) outs({{.*}} : tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = nn.silu_mul ins(%g, %u : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @silu_mul_memref
func.func @silu_mul_memref(%g: memref<8x64xf32>, %u: memref<8x64xf32>, %e: memref<8x64xf32>) {
  // CHECK: nn.silu_mul ins({{.*}} : memref<8x64xf32>, memref<8x64xf32>) outs({{.*}} : memref<8x64xf32>)
  nn.silu_mul ins(%g, %u : memref<8x64xf32>, memref<8x64xf32>) outs(%e : memref<8x64xf32>)
  return
}

// CHECK-LABEL: @silu_mul_grad
func.func @silu_mul_grad(%g: tensor<8x64xf32>, %u: tensor<8x64xf32>, %dy: tensor<8x64xf32>, %e0: tensor<8x64xf32>, %e1: tensor<8x64xf32>) {
  // CHECK: nn.silu_mul_grad ins({{.*}} : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) outs({{.*}} : tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>, tensor<8x64xf32>
  %0:2 = nn.silu_mul_grad ins(%g, %u, %dy : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) outs(%e0, %e1 : tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>, tensor<8x64xf32>
  return
}

// CHECK-LABEL: @silu_mul_grad_memref
func.func @silu_mul_grad_memref(%g: memref<8x64xf32>, %u: memref<8x64xf32>, %dy: memref<8x64xf32>, %e0: memref<8x64xf32>, %e1: memref<8x64xf32>) {
  // CHECK: nn.silu_mul_grad ins({{.*}} : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>) outs({{.*}} : memref<8x64xf32>, memref<8x64xf32>)
  nn.silu_mul_grad ins(%g, %u, %dy : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>) outs(%e0, %e1 : memref<8x64xf32>, memref<8x64xf32>)
  return
}

// CHECK-LABEL: @add
func.func @add(%a: tensor<?x3xf64>, %b: tensor<?x3xf64>, %e: tensor<?x3xf64>) {
  // CHECK: nn.add ins({{.*}} : tensor<?x3xf64>, tensor<?x3xf64>) outs({{.*}} : tensor<?x3xf64>) -> tensor<?x3xf64>
  %0 = nn.add ins(%a, %b : tensor<?x3xf64>, tensor<?x3xf64>) outs(%e : tensor<?x3xf64>) -> tensor<?x3xf64>
  return
}

// CHECK-LABEL: @add_memref
func.func @add_memref(%a: memref<?x3xf64>, %b: memref<?x3xf64>, %e: memref<?x3xf64>) {
  // CHECK: nn.add ins({{.*}} : memref<?x3xf64>, memref<?x3xf64>) outs({{.*}} : memref<?x3xf64>)
  nn.add ins(%a, %b : memref<?x3xf64>, memref<?x3xf64>) outs(%e : memref<?x3xf64>)
  return
}

// CHECK-LABEL: @fill
func.func @fill(%e: tensor<bf16>) {
  // CHECK: nn.fill outs({{.*}} : tensor<bf16>) {value = -1.000000e+00 : f64} -> tensor<bf16>
  %0 = nn.fill outs(%e : tensor<bf16>) {value = -1.000000e+00 : f64} -> tensor<bf16>
  return
}

// CHECK-LABEL: @fill_memref
func.func @fill_memref(%e: memref<bf16>) {
  // CHECK: nn.fill outs({{.*}} : memref<bf16>) {value = -1.000000e+00 : f64}
  nn.fill outs(%e : memref<bf16>) {value = -1.000000e+00 : f64}
  return
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<8x64xf32>, %k: tensor<8x32xf32>, %v: tensor<8x32xf32>, %e0: tensor<8x64xf32>, %e1: tensor<4x8xf32>) {
  // CHECK: nn.attention ins({{.*}} : tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>) outs({{.*}} : tensor<8x64xf32>, tensor<4x8xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64} -> tensor<8x64xf32>, tensor<4x8xf32>
  %0:2 = nn.attention ins(%q, %k, %v : tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>) outs(%e0, %e1 : tensor<8x64xf32>, tensor<4x8xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64} -> tensor<8x64xf32>, tensor<4x8xf32>
  return
}

// CHECK-LABEL: @attention_memref
func.func @attention_memref(%q: memref<8x64xf32>, %k: memref<8x32xf32>, %v: memref<8x32xf32>, %e0: memref<8x64xf32>, %e1: memref<4x8xf32>) {
  // CHECK: nn.attention ins({{.*}} : memref<8x64xf32>, memref<8x32xf32>, memref<8x32xf32>) outs({{.*}} : memref<8x64xf32>, memref<4x8xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64}
  nn.attention ins(%q, %k, %v : memref<8x64xf32>, memref<8x32xf32>, memref<8x32xf32>) outs(%e0, %e1 : memref<8x64xf32>, memref<4x8xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64}
  return
}

// CHECK-LABEL: @attention_grad
func.func @attention_grad(%q: tensor<8x64xf32>, %k: tensor<8x32xf32>, %v: tensor<8x32xf32>, %o: tensor<8x64xf32>, %l: tensor<4x8xf32>, %do: tensor<8x64xf32>, %e0: tensor<8x64xf32>, %e1: tensor<8x32xf32>, %e2: tensor<8x32xf32>) {
  // CHECK: nn.attention_grad ins({{.*}} : tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x64xf32>, tensor<4x8xf32>, tensor<8x64xf32>) outs({{.*}} : tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64} -> tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>
  %0:3 = nn.attention_grad ins(%q, %k, %v, %o, %l, %do : tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x64xf32>, tensor<4x8xf32>, tensor<8x64xf32>) outs(%e0, %e1, %e2 : tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64} -> tensor<8x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// CHECK-LABEL: @attention_grad_memref
func.func @attention_grad_memref(%q: memref<8x64xf32>, %k: memref<8x32xf32>, %v: memref<8x32xf32>, %o: memref<8x64xf32>, %l: memref<4x8xf32>, %do: memref<8x64xf32>, %e0: memref<8x64xf32>, %e1: memref<8x32xf32>, %e2: memref<8x32xf32>) {
  // CHECK: nn.attention_grad ins({{.*}} : memref<8x64xf32>, memref<8x32xf32>, memref<8x32xf32>, memref<8x64xf32>, memref<4x8xf32>, memref<8x64xf32>) outs({{.*}} : memref<8x64xf32>, memref<8x32xf32>, memref<8x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64}
  nn.attention_grad ins(%q, %k, %v, %o, %l, %do : memref<8x64xf32>, memref<8x32xf32>, memref<8x32xf32>, memref<8x64xf32>, memref<4x8xf32>, memref<8x64xf32>) outs(%e0, %e1, %e2 : memref<8x64xf32>, memref<8x32xf32>, memref<8x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 8 : i64}
  return
}

// CHECK-LABEL: @cached_attention
func.func @cached_attention(%q: tensor<1x64xf32>, %k: tensor<1x32xf32>, %v: tensor<1x32xf32>, %p: tensor<i32>, %e: tensor<1x64xf32>, %kc: tensor<128x32xf32>, %vc: tensor<128x32xf32>) {
  // CHECK: nn.cached_attention ins({{.*}} : tensor<1x64xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<i32>) outs({{.*}} : tensor<1x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64} -> tensor<1x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>
  %0:3 = nn.cached_attention ins(%q, %k, %v, %p : tensor<1x64xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<i32>) outs(%e, %kc, %vc : tensor<1x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64} -> tensor<1x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>
  return
}

// CHECK-LABEL: @cached_attention_memref
func.func @cached_attention_memref(%q: memref<1x64xf32>, %k: memref<1x32xf32>, %v: memref<1x32xf32>, %p: memref<i32>, %e: memref<1x64xf32>, %kc: memref<128x32xf32>, %vc: memref<128x32xf32>) {
  // CHECK: nn.cached_attention ins({{.*}} : memref<1x64xf32>, memref<1x32xf32>, memref<1x32xf32>, memref<i32>) outs({{.*}} : memref<1x64xf32>, memref<128x32xf32>, memref<128x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64}
  nn.cached_attention ins(%q, %k, %v, %p : memref<1x64xf32>, memref<1x32xf32>, memref<1x32xf32>, memref<i32>) outs(%e, %kc, %vc : memref<1x64xf32>, memref<128x32xf32>, memref<128x32xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64}
  return
}

// CHECK-LABEL: @select_token
func.func @select_token(%x: tensor<8x64xf32>, %i: tensor<i32>, %e: tensor<1x64xf32>) {
  // CHECK: nn.select_token ins({{.*}} : tensor<8x64xf32>, tensor<i32>) outs({{.*}} : tensor<1x64xf32>) -> tensor<1x64xf32>
  %0 = nn.select_token ins(%x, %i : tensor<8x64xf32>, tensor<i32>) outs(%e : tensor<1x64xf32>) -> tensor<1x64xf32>
  return
}

// CHECK-LABEL: @select_token_memref
func.func @select_token_memref(%x: memref<8x64xf32>, %i: memref<i32>, %e: memref<1x64xf32>) {
  // CHECK: nn.select_token ins({{.*}} : memref<8x64xf32>, memref<i32>) outs({{.*}} : memref<1x64xf32>)
  nn.select_token ins(%x, %i : memref<8x64xf32>, memref<i32>) outs(%e : memref<1x64xf32>)
  return
}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %e: tensor<8x32xf32>) {
  // CHECK: nn.linear ins({{.*}} : tensor<8x64xf32>, tensor<32x64xf32>) outs({{.*}} : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = nn.linear ins(%x, %w : tensor<8x64xf32>, tensor<32x64xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  return
}

// CHECK-LABEL: @linear_memref
func.func @linear_memref(%x: memref<8x64xf32>, %w: memref<32x64xf32>, %e: memref<8x32xf32>) {
  // CHECK: nn.linear ins({{.*}} : memref<8x64xf32>, memref<32x64xf32>) outs({{.*}} : memref<8x32xf32>)
  nn.linear ins(%x, %w : memref<8x64xf32>, memref<32x64xf32>) outs(%e : memref<8x32xf32>)
  return
}

// CHECK-LABEL: @linear_grad_input
func.func @linear_grad_input(%dy: tensor<8x32xf32>, %w: tensor<32x64xf32>, %e: tensor<8x64xf32>) {
  // CHECK: nn.linear_grad_input ins({{.*}} : tensor<8x32xf32>, tensor<32x64xf32>) outs({{.*}} : tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = nn.linear_grad_input ins(%dy, %w : tensor<8x32xf32>, tensor<32x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @linear_grad_input_memref
func.func @linear_grad_input_memref(%dy: memref<8x32xf32>, %w: memref<32x64xf32>, %e: memref<8x64xf32>) {
  // CHECK: nn.linear_grad_input ins({{.*}} : memref<8x32xf32>, memref<32x64xf32>) outs({{.*}} : memref<8x64xf32>)
  nn.linear_grad_input ins(%dy, %w : memref<8x32xf32>, memref<32x64xf32>) outs(%e : memref<8x64xf32>)
  return
}

// CHECK-LABEL: @linear_grad_weight
func.func @linear_grad_weight(%x: tensor<8x64xf32>, %dy: tensor<8x32xf32>, %e: tensor<32x64xf32>) {
  // CHECK: nn.linear_grad_weight ins({{.*}} : tensor<8x64xf32>, tensor<8x32xf32>) outs({{.*}} : tensor<32x64xf32>) -> tensor<32x64xf32>
  %0 = nn.linear_grad_weight ins(%x, %dy : tensor<8x64xf32>, tensor<8x32xf32>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return
}

// CHECK-LABEL: @linear_grad_weight_memref
func.func @linear_grad_weight_memref(%x: memref<8x64xf32>, %dy: memref<8x32xf32>, %e: memref<32x64xf32>) {
  // CHECK: nn.linear_grad_weight ins({{.*}} : memref<8x64xf32>, memref<8x32xf32>) outs({{.*}} : memref<32x64xf32>)
  nn.linear_grad_weight ins(%x, %dy : memref<8x64xf32>, memref<8x32xf32>) outs(%e : memref<32x64xf32>)
  return
}

// CHECK-LABEL: @linear_cross_entropy
func.func @linear_cross_entropy(%x: tensor<8x64xf32>, %w: tensor<100x64xf32>, %t: tensor<8xi32>, %n: tensor<i32>, %e0: tensor<f32>, %e1: tensor<8xf32>) {
  // CHECK: nn.linear_cross_entropy ins({{.*}} : tensor<8x64xf32>, tensor<100x64xf32>, tensor<8xi32>, tensor<i32>) outs({{.*}} : tensor<f32>, tensor<8xf32>) -> tensor<f32>, tensor<8xf32>
  %0:2 = nn.linear_cross_entropy ins(%x, %w, %t, %n : tensor<8x64xf32>, tensor<100x64xf32>, tensor<8xi32>, tensor<i32>) outs(%e0, %e1 : tensor<f32>, tensor<8xf32>) -> tensor<f32>, tensor<8xf32>
  return
}

// CHECK-LABEL: @linear_cross_entropy_memref
func.func @linear_cross_entropy_memref(%x: memref<8x64xf32>, %w: memref<100x64xf32>, %t: memref<8xi32>, %n: memref<i32>, %e0: memref<f32>, %e1: memref<8xf32>) {
  // CHECK: nn.linear_cross_entropy ins({{.*}} : memref<8x64xf32>, memref<100x64xf32>, memref<8xi32>, memref<i32>) outs({{.*}} : memref<f32>, memref<8xf32>)
  nn.linear_cross_entropy ins(%x, %w, %t, %n : memref<8x64xf32>, memref<100x64xf32>, memref<8xi32>, memref<i32>) outs(%e0, %e1 : memref<f32>, memref<8xf32>)
  return
}

// CHECK-LABEL: @linear_cross_entropy_grad
func.func @linear_cross_entropy_grad(%x: tensor<8x64xf32>, %w: tensor<100x64xf32>, %t: tensor<8xi32>, %n: tensor<i32>, %lse: tensor<8xf32>, %dl: tensor<f32>, %e0: tensor<8x64xf32>, %e1: tensor<100x64xf32>) {
  // CHECK: nn.linear_cross_entropy_grad ins({{.*}} : tensor<8x64xf32>, tensor<100x64xf32>, tensor<8xi32>, tensor<i32>, tensor<8xf32>, tensor<f32>) outs({{.*}} : tensor<8x64xf32>, tensor<100x64xf32>) -> tensor<8x64xf32>, tensor<100x64xf32>
  %0:2 = nn.linear_cross_entropy_grad ins(%x, %w, %t, %n, %lse, %dl : tensor<8x64xf32>, tensor<100x64xf32>, tensor<8xi32>, tensor<i32>, tensor<8xf32>, tensor<f32>) outs(%e0, %e1 : tensor<8x64xf32>, tensor<100x64xf32>) -> tensor<8x64xf32>, tensor<100x64xf32>
  return
}

// CHECK-LABEL: @linear_cross_entropy_grad_memref
func.func @linear_cross_entropy_grad_memref(%x: memref<8x64xf32>, %w: memref<100x64xf32>, %t: memref<8xi32>, %n: memref<i32>, %lse: memref<8xf32>, %dl: memref<f32>, %e0: memref<8x64xf32>, %e1: memref<100x64xf32>) {
  // CHECK: nn.linear_cross_entropy_grad ins({{.*}} : memref<8x64xf32>, memref<100x64xf32>, memref<8xi32>, memref<i32>, memref<8xf32>, memref<f32>) outs({{.*}} : memref<8x64xf32>, memref<100x64xf32>)
  nn.linear_cross_entropy_grad ins(%x, %w, %t, %n, %lse, %dl : memref<8x64xf32>, memref<100x64xf32>, memref<8xi32>, memref<i32>, memref<8xf32>, memref<f32>) outs(%e0, %e1 : memref<8x64xf32>, memref<100x64xf32>)
  return
}

// CHECK-LABEL: @linear_cross_entropy_with_grad
func.func @linear_cross_entropy_with_grad(%x: tensor<8x64xf32>, %w: tensor<100x64xf32>, %t: tensor<8xi32>, %n: tensor<i32>, %dl: tensor<f32>, %e0: tensor<8x64xf32>, %e1: tensor<100x64xf32>) {
  // CHECK: nn.linear_cross_entropy_with_grad ins({{.*}} : tensor<8x64xf32>, tensor<100x64xf32>, tensor<8xi32>, tensor<i32>, tensor<f32>) outs({{.*}} : tensor<f32>, tensor<8x64xf32>, tensor<100x64xf32>) -> tensor<f32>, tensor<8x64xf32>, tensor<100x64xf32>
  %0:3 = nn.linear_cross_entropy_with_grad ins(%x, %w, %t, %n, %dl : tensor<8x64xf32>, tensor<100x64xf32>, tensor<8xi32>, tensor<i32>, tensor<f32>) outs(%dl, %e0, %e1 : tensor<f32>, tensor<8x64xf32>, tensor<100x64xf32>) -> tensor<f32>, tensor<8x64xf32>, tensor<100x64xf32>
  return
}

// CHECK-LABEL: @pack
func.func @pack(%x: tensor<8x64xf32>, %e: tensor<1x64x8xf32>) {
  // CHECK: nn.pack ins({{.*}} : tensor<8x64xf32>) outs({{.*}} : tensor<1x64x8xf32>) -> tensor<1x64x8xf32>
  %0 = nn.pack ins(%x : tensor<8x64xf32>) outs(%e : tensor<1x64x8xf32>) -> tensor<1x64x8xf32>
  return
}

// CHECK-LABEL: @pack_memref
func.func @pack_memref(%x: memref<8x64xf32>, %e: memref<1x64x8xf32>) {
  // CHECK: nn.pack ins({{.*}} : memref<8x64xf32>) outs({{.*}} : memref<1x64x8xf32>)
  nn.pack ins(%x : memref<8x64xf32>) outs(%e : memref<1x64x8xf32>)
  return
}

// CHECK-LABEL: @unpack
func.func @unpack(%x: tensor<1x64x8xf32>, %e: tensor<8x64xf32>) {
  // CHECK: nn.unpack ins({{.*}} : tensor<1x64x8xf32>) outs({{.*}} : tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = nn.unpack ins(%x : tensor<1x64x8xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @unpack_memref
func.func @unpack_memref(%x: memref<1x64x8xf32>, %e: memref<8x64xf32>) {
  // CHECK: nn.unpack ins({{.*}} : memref<1x64x8xf32>) outs({{.*}} : memref<8x64xf32>)
  nn.unpack ins(%x : memref<1x64x8xf32>) outs(%e : memref<8x64xf32>)
  return
}
