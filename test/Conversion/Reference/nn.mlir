// RUN: smet-opt %s -smet-convert-kernels-to-reference -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func.func @linear
// CHECK:         linalg.fill
// CHECK:         linalg.generic {indexing_maps = [#[[X]], #[[W]], #[[Y]]], iterator_types = ["parallel", "parallel", "reduction"]}
func.func @linear(%x: memref<5x9xf32>, %w: memref<7x9xf32>, %y: memref<5x7xf32>) {
  nn.linear ins(%x, %w : memref<5x9xf32>, memref<7x9xf32>) outs(%y : memref<5x7xf32>)
  return
}

// Angles are computed in double.
// CHECK-LABEL: func.func @rope
// CHECK:         math.powf {{.*}} : f64
// CHECK:         math.cos {{.*}} : f64
// CHECK:         math.sin {{.*}} : f64
func.func @rope(%x: memref<8x12xf32>, %y: memref<8x12xf32>) {
  nn.rope ins(%x : memref<8x12xf32>) outs(%y : memref<8x12xf32>) {head_dim = 6, seq_len = 4, theta = 10000.0 : f64}
  return
}

// No [T, T] array.
// CHECK-LABEL: func.func @attention
// CHECK-NOT:     memref.alloc
// CHECK:         math.exp
func.func @attention(%q: memref<8x16xf32>, %k: memref<8x8xf32>, %v: memref<8x8xf32>, %o: memref<8x16xf32>, %lse: memref<4x8xf32>) {
  nn.attention ins(%q, %k, %v : memref<8x16xf32>, memref<8x8xf32>, memref<8x8xf32>) outs(%o, %lse : memref<8x16xf32>, memref<4x8xf32>)
    {num_heads = 4, num_kv_heads = 2, seq_len = 4}
  return
}

// No [T, V] array: scratch is the logits of one token.
// CHECK-LABEL: func.func @cross_entropy
// CHECK:         memref.alloc() : memref<50xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         return
func.func @cross_entropy(%x: memref<8x16xf32>, %w: memref<50x16xf32>, %t: memref<8xi32>, %n: memref<i32>, %loss: memref<f32>, %lse: memref<8xf32>) {
  nn.linear_cross_entropy ins(%x, %w, %t, %n : memref<8x16xf32>, memref<50x16xf32>, memref<8xi32>, memref<i32>)
    outs(%loss, %lse : memref<f32>, memref<8xf32>)
  return
}

// -----

// Packed tiles belong to the CPU target.
func.func @pack(%x: memref<8x16xf32>, %y: memref<1x16x16xf32>) {
  // expected-error @below {{'nn.pack' op has no reference lowering for these operand types}}
  nn.pack ins(%x : memref<8x16xf32>) outs(%y : memref<1x16x16xf32>)
  return
}

// -----

func.func @spmm(%t: !smet.topology<32x64, block = [16, 16], nnz = ?>, %w: memref<?x16x16xf32>, %x: memref<8x64xf32>, %y: memref<8x32xf32>) {
  // expected-error @below {{'smet.spmm' op has no reference lowering for these operand types}}
  smet.spmm ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = ?>, memref<?x16x16xf32>, memref<8x64xf32>) outs(%y : memref<8x32xf32>)
  return
}

// -----

func.func @dynamic(%x: memref<?x64xf32>) {
  // expected-error @below {{'nn.silu_mul' op needs contiguous memrefs of static shape (but for the number of slots) to become a kernel}}
  nn.silu_mul ins(%x, %x : memref<?x64xf32>, memref<?x64xf32>) outs(%x : memref<?x64xf32>)
  return
}
