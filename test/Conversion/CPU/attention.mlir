// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse | FileCheck %s
// RUN: smet-opt %s --smet-convert-kernels-to-cpu="vector-bits=256 num-registers=16" --canonicalize --cse | FileCheck %s --check-prefix=YMM

// One item of work is a tile of 64 queries, in lanes, of one head. Key tiles follow each other with a running maximum and
// sum; scores of one pair of tiles are the only buffer of their size. Half of the registers are sums of a product.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nn.
// CHECK:         scf.parallel
// CHECK:           memref.alloca() {{.*}} : memref<64x64xf32>
// CHECK-COUNT-2:   memref.alloca() {{.*}} : memref<64xf32>
// Tiles of keys before that of the queries: every key is seen.
// CHECK:           scf.for
// CHECK:             %{{.*}}:4 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK-NOT:           store
// CHECK-COUNT-4:       math.fma {{.*}} : vector<64xf32>
// CHECK-NOT:           store
// CHECK:               scf.yield
// CHECK-NOT:         arith.cmpi
// CHECK:             arith.maximumf
// CHECK:             math.exp {{.*}} : vector<64xf32>
// CHECK:             %{{.*}}:4 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK-NOT:           store
// CHECK-COUNT-4:       math.fma {{.*}} : vector<64xf32>
// CHECK-NOT:           store
// CHECK:               scf.yield
// The tile of the queries, in pieces of 32: keys up to the last of these queries, later ones of each are hidden.
// CHECK:           scf.for %[[LANE:.*]] = %c0 to %c64 step %c32
// CHECK:             %[[SEEN:.*]] = arith.addi %[[LANE]], %c32
// CHECK:             scf.for %{{.*}} = %c0 to %[[SEEN]] step %c8
// CHECK:               %{{.*}}:8 = scf.for {{.*}} iter_args({{.*}}vector<32xf32>
// CHECK:             scf.for %{{.*}} = %c0 to %[[SEEN]] step %c1
// CHECK:               arith.cmpi ugt, {{.*}} : vector<32xi32>
// CHECK:               arith.maximumf
// CHECK:             math.exp {{.*}} : vector<32xf32>
// CHECK:             scf.for %{{.*}} = %c0 to %[[SEEN]] step %c1 iter_args({{.*}}vector<32xf32>
// CHECK:           math.log

// With 16 registers the products work on two registers of a row at a time.
// YMM:           %{{.*}}:4 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
func.func @main(%q: memref<4x64x64xf32>, %k: memref<4x32x64xf32>, %v: memref<4x32x64xf32>, %o: memref<4x64x64xf32>,
                %lse: memref<4x256xf32>) {
  nn.attention ins(%q, %k, %v : memref<4x64x64xf32>, memref<4x32x64xf32>, memref<4x32x64xf32>)
               outs(%o, %lse : memref<4x64x64xf32>, memref<4x256xf32>)
               {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 128 : i64}
  return
}
