// RUN: smet-opt %s --smet-convert-kernels-to-gpu --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// Three heads of 16 features, one kv head, two tiles of 64 tokens. Blocks of 128 threads copy 16 bytes at a time into
// shared memory; there are probabilities of one pair of tiles, and no array of 128 x 128.
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     128x128
// CHECK:         gpu.launch blocks({{.*}}) in ({{.*}} = %c6, {{.*}} threads({{.*}}) in ({{.*}} = %c128,
// CHECK-SAME:    workgroup(%[[buffers:.*]] : memref<2x32x68xf32, 3>, %[[weights:.*]] : memref<64x64xf32, 3>, %[[joined:.*]] : memref<8x64xf32, 3>)
// CHECK:         scf.for {{.*}} iter_args
// The scores: queries and keys to shared memory, then products of what is there.
// CHECK-COUNT-4:   vector.load {{.*}} {alignment = 16 : i64} : memref<1x{{48|16}}x128xf32>, vector<4xf32>
// CHECK:           gpu.barrier
// CHECK:           scf.for
// CHECK-COUNT-2:     vector.load %[[buffers]]{{.*}} : memref<2x32x68xf32, 3>, vector<4xf32>
// CHECK-COUNT-4:     math.fma
// CHECK:             vector.load %[[buffers]]
// CHECK-COUNT-4:     math.fma
// Nobody sees a later key. The largest score of all threads.
// CHECK:           arith.cmpi ugt, {{.*}} : vector<4xi32>
// CHECK:           vector.store {{.*}}, %[[joined]]
// CHECK:           gpu.barrier
// CHECK-COUNT-8:   vector.load %[[joined]]
// CHECK-COUNT-9:   math.exp
// CHECK-COUNT-8:   vector.store {{.*}}, %[[weights]]
// CHECK:           vector.load {{.*}} : memref<1x16x128xf32>, vector<4xf32>
// CHECK:           gpu.barrier
// CHECK:         math.log
// CHECK-NOT:     nn.attention
func.func @main(%q: memref<1x48x128xf32>, %k: memref<1x16x128xf32>, %v: memref<1x16x128xf32>,
                %o: memref<1x48x128xf32>, %lse: memref<3x128xf32>) {
  nn.attention ins(%q, %k, %v : memref<1x48x128xf32>, memref<1x16x128xf32>, memref<1x16x128xf32>)
      outs(%o, %lse : memref<1x48x128xf32>, memref<3x128xf32>)
      {num_heads = 3 : i64, num_kv_heads = 1 : i64, seq_len = 128 : i64}
  return
}

// -----

// In bf16 a load of 16 bytes is of eight tokens, and makes two stores of f32.
// CHECK-LABEL: func.func @main(
// CHECK:         gpu.launch
// CHECK:           vector.load {{.*}} {alignment = 16 : i64} : memref<1x16x128xbf16>, vector<8xbf16>
// CHECK-COUNT-2:   vector.store {{.*}} {alignment = 16 : i64} : memref<2x32x68xf32, 3>, vector<4xf32>
func.func @main(%q: memref<1x16x128xbf16>, %k: memref<1x16x128xbf16>, %v: memref<1x16x128xbf16>,
                %o: memref<1x16x128xbf16>, %lse: memref<1x128xf32>) {
  nn.attention ins(%q, %k, %v : memref<1x16x128xbf16>, memref<1x16x128xbf16>, memref<1x16x128xbf16>)
      outs(%o, %lse : memref<1x16x128xbf16>, memref<1x128xf32>)
      {num_heads = 1 : i64, num_kv_heads = 1 : i64, seq_len = 128 : i64}
  return
}

// -----

// What belongs to queries by a first launch, dq by tiles of queries, dk and dv by tiles of keys; heads of more than 32
// features have blocks of 256 threads.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: memref.alloc() : memref<2x128xf32>
// CHECK-NOT:     atomic
// CHECK:         gpu.launch
// CHECK:         gpu.launch {{.*}} = %c4, {{.*}} threads({{.*}}) in ({{.*}} = %c256,
// CHECK:         gpu.launch {{.*}} = %c2, {{.*}} threads({{.*}}) in ({{.*}} = %c256,
// CHECK-NOT:     gpu.launch
// CHECK-NOT:     nn.attention_grad
func.func @main(%q: memref<1x80x128xf32>, %k: memref<1x40x128xf32>, %v: memref<1x40x128xf32>, %o: memref<1x80x128xf32>,
                %lse: memref<2x128xf32>, %do: memref<1x80x128xf32>, %dq: memref<1x80x128xf32>,
                %dk: memref<1x40x128xf32>, %dv: memref<1x40x128xf32>) {
  nn.attention_grad
      ins(%q, %k, %v, %o, %lse, %do : memref<1x80x128xf32>, memref<1x40x128xf32>, memref<1x40x128xf32>,
          memref<1x80x128xf32>, memref<2x128xf32>, memref<1x80x128xf32>)
      outs(%dq, %dk, %dv : memref<1x80x128xf32>, memref<1x40x128xf32>, memref<1x40x128xf32>)
      {num_heads = 2 : i64, num_kv_heads = 1 : i64, seq_len = 64 : i64}
  return
}

// -----

// One token: its key and value into the cache, the scores, then the features by warps.
// CHECK-LABEL: func.func @main(
// CHECK:         gpu.launch
// CHECK:           memref.store {{.*}} : memref<1x32x256xf32>
// CHECK:         gpu.launch
// CHECK:           vector.load {{.*}} {alignment = 16 : i64} : memref<1x32x256xf32>, vector<4xf32>
// CHECK:         gpu.launch
// CHECK:           gpu.shuffle xor
func.func @main(%q: memref<1x64x16xf32>, %k: memref<1x32x16xf32>, %v: memref<1x32x16xf32>, %position: memref<i32>,
                %o: memref<1x64x16xf32>, %keys: memref<1x32x256xf32>, %values: memref<1x32x256xf32>) {
  nn.cached_attention
      ins(%q, %k, %v, %position : memref<1x64x16xf32>, memref<1x32x16xf32>, memref<1x32x16xf32>, memref<i32>)
      outs(%o, %keys, %values : memref<1x64x16xf32>, memref<1x32x256xf32>, memref<1x32x256xf32>)
      {num_heads = 4 : i64, num_kv_heads = 2 : i64}
  return
}

// -----

// Several tiles are the CPU's layout.
func.func @main(%q: memref<2x16x64xf32>, %k: memref<2x16x64xf32>, %v: memref<2x16x64xf32>, %o: memref<2x16x64xf32>,
                %lse: memref<1x128xf32>) {
  // expected-error @+1 {{has no GPU kernel for these operand types}}
  nn.attention ins(%q, %k, %v : memref<2x16x64xf32>, memref<2x16x64xf32>, memref<2x16x64xf32>)
      outs(%o, %lse : memref<2x16x64xf32>, memref<1x128xf32>)
      {num_heads = 1 : i64, num_kv_heads = 1 : i64, seq_len = 128 : i64}
  return
}
