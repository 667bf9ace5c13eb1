// RUN: smet-opt %s --smet-convert-kernels-to-cpu --split-input-file --verify-diagnostics

// Token-major activations have no kernel: the pipeline packs them before.
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xf32>, %x: memref<128x64xf32>, %y: memref<128x32xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  // expected-error @below {{'smet.spmm' op has no CPU kernel for these operand types}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<128x64xf32>) outs(%y : memref<128x32xf32>)
  return
}

// -----

// A topology that is no smet.topology.pack of memrefs.
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%t: !t, %w: memref<?x16x16xf32>, %x: memref<2x64x64xf32>, %y: memref<2x32x64xf32>) {
  // expected-error @below {{'smet.spmm' op has no CPU kernel for these operand types}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<2x64x64xf32>) outs(%y : memref<2x32x64xf32>)
  return
}

// -----

func.func @main(%x: memref<2x64x64xf64>) {
  // expected-error @below {{'nn.silu_mul' op has no CPU kernel for these operand types}}
  nn.silu_mul ins(%x, %x : memref<2x64x64xf64>, memref<2x64x64xf64>) outs(%x : memref<2x64x64xf64>)
  return
}

// -----

// Sequences that end inside a tile.
func.func @main(%x: memref<1x32x64xf32>, %lse: memref<4x64xf32>) {
  // expected-error @below {{'nn.attention' op has no CPU kernel for these operand types}}
  nn.attention ins(%x, %x, %x : memref<1x32x64xf32>, memref<1x32x64xf32>, memref<1x32x64xf32>) outs(%x, %lse : memref<1x32x64xf32>, memref<4x64xf32>)
    {num_heads = 4 : i64, num_kv_heads = 4 : i64, seq_len = 32 : i64}
  return
}

// -----

func.func @main(%x: memref<2x0x64xf32>, %g: memref<0xf32>) {
  // expected-error @below {{'nn.rms_norm' op has no CPU kernel for these operand types}}
  nn.rms_norm ins(%x, %g : memref<2x0x64xf32>, memref<0xf32>) outs(%x : memref<2x0x64xf32>) {eps = 1.0e-6 : f64}
  return
}

// -----

func.func @main(%x: memref<?x64xf32>) {
  // expected-error @below {{'nn.silu_mul' op needs contiguous memrefs of static shape (but for the number of slots) to become a kernel}}
  nn.silu_mul ins(%x, %x : memref<?x64xf32>, memref<?x64xf32>) outs(%x : memref<?x64xf32>)
  return
}

// -----

func.func @main(%x: memref<2x64x64xf32>, %w: memref<32x64xf32, strided<[128, 1]>>, %y: memref<2x32x64xf32>) {
  // expected-error @below {{'nn.linear' op needs contiguous memrefs of static shape}}
  nn.linear ins(%x, %w : memref<2x64x64xf32>, memref<32x64xf32, strided<[128, 1]>>) outs(%y : memref<2x32x64xf32>)
  return
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'nn.add' op needs contiguous memrefs of static shape}}
  %0 = nn.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
