// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// One item of work is a sequence of a kv head, so that dq, dk and dv have one writer. Scratch are pairs of tiles: the
// probabilities, ds, and either of them transposed. Tiles of keys before that of the queries come whole, their own in
// pieces of 32 queries, and for the products over queries in pieces of 32 keys, from the first query that sees one.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     memref.alloc()
// CHECK:         scf.parallel {{.*}} to (%c2)
// CHECK-COUNT-3:   memref.alloca() {{.*}} : memref<64x64xf32>
// CHECK:           math.exp {{.*}} : vector<64xf32>
// CHECK-NOT:       math.exp
// CHECK:           vector.shuffle
// CHECK:           scf.for %[[QUERY:.*]] = %c0 to %c64 step %c32
// CHECK:             %[[SEEN:.*]] = arith.addi %[[QUERY]], %c32
// CHECK:             scf.for %{{.*}} = %c0 to %[[SEEN]] step %c1
// CHECK:               math.exp {{.*}} : vector<32xf32>
// CHECK-NOT:       math.exp
// CHECK:           vector.shuffle
// CHECK:           scf.for %[[KEY:.*]] = %c0 to %c64 step %c32
// CHECK:             scf.for %{{.*}} = %[[KEY]] to %c64 step %c1 iter_args({{.*}}vector<32xf32>
// CHECK-NOT:     scf.parallel
!q = memref<2x32x64xf32>
!k = memref<2x16x64xf32>
func.func @main(%q: !q, %k: !k, %v: !k, %o: !q, %lse: memref<4x128xf32>, %do: !q, %dq: !q, %dk: !k, %dv: !k) {
  nn.attention_grad ins(%q, %k, %v, %o, %lse, %do : !q, !k, !k, !q, memref<4x128xf32>, !q) outs(%dq, %dk, %dv : !q, !k, !k)
    {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 128 : i64}
  return
}

// -----

// Decoding: the new token goes into the caches first; heads in parallel, cached keys in lanes, those behind it hidden.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[KC:[a-z0-9]*]]: memref<2x16x64xf32>, %[[VC:[a-z0-9]*]]: memref<2x16x64xf32>)
// CHECK:         memref.store %{{.*}}, %[[KC]]
// CHECK:         memref.store %{{.*}}, %[[VC]]
// CHECK:         memref.alloc() : memref<4x2x64xf32>
// CHECK:         scf.parallel
// CHECK:             arith.cmpi {{.*}} : vector<64xi32>
// CHECK:             arith.select {{.*}} : vector<64xi1>
// CHECK:           vector.reduction <maximumf>
// CHECK:           math.exp {{.*}} : vector<64xf32>
// CHECK:           vector.reduction <add>
func.func @main(%q: memref<1x32x16xf32>, %k: memref<1x16x16xf32>, %v: memref<1x16x16xf32>, %p: memref<i32>, %o: memref<1x32x16xf32>,
                %kc: memref<2x16x64xf32>, %vc: memref<2x16x64xf32>) {
  nn.cached_attention ins(%q, %k, %v, %p : memref<1x32x16xf32>, memref<1x16x16xf32>, memref<1x16x16xf32>, memref<i32>)
    outs(%o, %kc, %vc : memref<1x32x16xf32>, memref<2x16x64xf32>, memref<2x16x64xf32>) {num_heads = 4 : i64, num_kv_heads = 2 : i64}
  return
}
