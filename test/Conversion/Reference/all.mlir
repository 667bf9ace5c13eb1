// RUN: smet-opt %s -smet-convert-kernels-to-reference | FileCheck %s
// RUN: smet-opt %s -smet-convert-kernels-to-reference -smet-convert-kernels-to-reference | FileCheck %s

// Every op that the other files of this folder leave out has a lowering, also in double, and a walk of the dense side
// only where it is exported.
// CHECK-NOT:   nn.{{[a-z]}}
// CHECK-LABEL: func.func @dense(
// CHECK-NOT:   {{ (nn|smet)[.]}}
!x = memref<8x16xf64>
!s = memref<f64>
func.func @dense(%x: !x, %y: !x, %z: !x, %g: memref<16xf64>, %dg: memref<16xf64>, %table: memref<20x16xf64>, %dtable: memref<20x16xf64>,
                 %ids: memref<8xi32>, %i: memref<i32>, %one: memref<1x16xf64>, %lse: memref<4x8xf64>, %lse1: memref<8xf64>, %n: memref<i32>,
                 %scalar: !s, %w: memref<16x16xf64>, %lr: !s, %step: memref<i64>) {
  nn.embedding ins(%table, %ids : memref<20x16xf64>, memref<8xi32>) outs(%x : !x)
  nn.embedding_grad ins(%x, %ids : !x, memref<8xi32>) outs(%dtable : memref<20x16xf64>)
  nn.rms_norm ins(%x, %g : !x, memref<16xf64>) outs(%y : !x) {eps = 1.0e-6 : f64}
  nn.rms_norm_grad ins(%x, %g, %y : !x, memref<16xf64>, !x) outs(%z, %dg : !x, memref<16xf64>) {eps = 1.0e-6 : f64}
  nn.rope_at ins(%one, %i : memref<1x16xf64>, memref<i32>) outs(%one : memref<1x16xf64>) {head_dim = 4 : i64, seq_len = 8 : i64, theta = 1.0e4 : f64}
  nn.silu_mul ins(%x, %y : !x, !x) outs(%z : !x)
  nn.silu_mul_grad ins(%x, %y, %z : !x, !x, !x) outs(%y, %x : !x, !x)
  nn.add ins(%x, %y : !x, !x) outs(%z : !x)
  nn.fill outs(%x : !x) {value = 2.0 : f64}
  nn.attention_grad ins(%x, %x, %x, %y, %lse, %y : !x, !x, !x, !x, memref<4x8xf64>, !x) outs(%z, %z, %z : !x, !x, !x)
    {num_heads = 4 : i64, num_kv_heads = 4 : i64, seq_len = 8 : i64}
  nn.cached_attention ins(%one, %one, %one, %i : memref<1x16xf64>, memref<1x16xf64>, memref<1x16xf64>, memref<i32>)
    outs(%one, %x, %y : memref<1x16xf64>, !x, !x) {num_heads = 4 : i64, num_kv_heads = 4 : i64}
  nn.select_token ins(%x, %i : !x, memref<i32>) outs(%one : memref<1x16xf64>)
  nn.linear_grad_input ins(%x, %w : !x, memref<16x16xf64>) outs(%y : !x)
  nn.linear_grad_weight ins(%x, %y : !x, !x) outs(%w : memref<16x16xf64>)
  nn.linear_cross_entropy_grad ins(%x, %table, %ids, %n, %lse1, %scalar : !x, memref<20x16xf64>, memref<8xi32>, memref<i32>, memref<8xf64>, !s)
    outs(%y, %dtable : !x, memref<20x16xf64>)
  nn.linear_cross_entropy_with_grad ins(%x, %table, %ids, %n, %scalar : !x, memref<20x16xf64>, memref<8xi32>, memref<i32>, !s)
    outs(%scalar, %y, %dtable : !s, !x, memref<20x16xf64>)
  smet.dense_adam_step ins(%w, %lr, %step : memref<16x16xf64>, !s, memref<i64>) outs(%w, %w, %w : memref<16x16xf64>, memref<16x16xf64>, memref<16x16xf64>) {adamw = #smet.adamw<>}
  return
}

// CHECK-LABEL: func.func @sparse(
// CHECK-NOT:   {{ (nn|smet)[.]}}
!t = !smet.topology<16x16, block = [4, 2], nnz = ?>
!w = memref<?x4x2xf32>
func.func @sparse(%p: memref<5xi32>, %c: memref<?xi16>, %tp: memref<9xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>, %x: memref<8x16xf32>,
                  %w: !w, %m: !w, %v: !w, %age: memref<?xi16>, %score: memref<?xf32>, %d: memref<16x16xf32>, %lr: memref<f32>, %step: memref<i64>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : memref<5xi32>, memref<?xi16>, memref<9xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.sddmm_adam ins(%t, %x, %x, %lr, %step : !t, memref<8x16xf32>, memref<8x16xf32>, memref<f32>, memref<i64>)
    outs(%w, %m, %v, %age : !w, !w, !w, memref<?xi16>) {adamw = #smet.adamw<>}
  smet.score ins(%w : !w) outs(%score : memref<?xf32>)
  smet.to_dense ins(%t, %w : !t, !w) outs(%d : memref<16x16xf32>)
  smet.from_dense ins(%t, %d : !t, memref<16x16xf32>) outs(%w : !w)
  return
}
