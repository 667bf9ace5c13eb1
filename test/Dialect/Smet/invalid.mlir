// RUN: smet-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{block [16, 16] does not divide shape 60x64}}
func.func private @block(!smet.topology<60x64, block = [16, 16], nnz = 1>)

// -----

// expected-error @+1 {{shape and block must be positive}}
func.func private @zero(!smet.topology<64x64, block = [0, 16], nnz = 1>)

// -----

// expected-error @+1 {{expected a topology shape of rank 2, got rank 3}}
func.func private @rank(!smet.topology<64x64x2, block = [1, 16], nnz = 1>)

// -----

// expected-error @+1 {{expected 'block'}}
func.func private @no_block(!smet.topology<64x64, nnz = 1>)

// -----

// expected-error @+1 {{expected static shape}}
func.func private @dynamic(!smet.topology<?x64, block = [16, 16], nnz = 1>)

// -----

// expected-error @+1 {{nnz = -1 is outside [0, 16]}}
func.func private @negative(!smet.topology<64x64, block = [16, 16], nnz = -1>)

// -----

// expected-error @+1 {{block [128, 128] does not divide shape 64x64}}
func.func private @large(!smet.topology<64x64, block = [128, 128], nnz = 1>)

// -----

// expected-error @+1 {{4294967296x4294967296 elements are more than a 64-bit index can count}}
func.func private @elements(!smet.topology<4294967296x4294967296, block = [4294967296, 4294967296], nnz = 1>)

// -----

// expected-error @+1 {{nnz = 17 is outside [0, 16]}}
func.func private @nnz(!smet.topology<64x64, block = [16, 16], nnz = 17>)

// -----

// expected-error @+1 {{65536 x 65536 blocks are more than a 32-bit index can count}}
func.func private @blocks(!smet.topology<65536x65536, block = [1, 1], nnz = 17>)

// -----

// expected-error @+1 {{adamw: beta1 must be in [0, 1), got 1}}
#a = #smet.adamw<beta1 = 1.0>

// -----

// expected-error @+1 {{adamw: beta2 must be in [0, 1), got -5.000000e-01}}
#a = #smet.adamw<beta2 = -0.5>

// -----

// expected-error @+1 {{adamw: eps must be positive and finite, got 0}}
#a = #smet.adamw<eps = 0.0>

// -----

// expected-error @+1 {{adamw: weight_decay must be at least 0 and finite}}
#a = #smet.adamw<weight_decay = -1.0>

// -----

// expected-error @+1 {{adamw: warmup_updates must be at least 0, got -1}}
#a = #smet.adamw<warmup_updates = -1>

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @values(%t: !t, %w: memref<5x16x16xf32>, %x: memref<8x64xf32>, %y: memref<8x32xf32>) {
  // expected-error @+1 {{'smet.spmm' op values has shape [5, 16, 16], expected [4, 16, 16], the active blocks of !smet.topology<32x64}}
  smet.spmm ins(%t, %w, %x : !t, memref<5x16x16xf32>, memref<8x64xf32>) outs(%y : memref<8x32xf32>)
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @x(%t: !t, %w: memref<?x16x16xf32>, %x: memref<8x64xf32>, %y: memref<8x32xf32>) {
  // expected-error @+1 {{'smet.spmm' op x has shape [8, 64], expected [8, 32], the rows of !smet.topology<32x64}}
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<8x64xf32>) outs(%y : memref<8x32xf32>) {transpose}
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @dvalues(%t: !t, %w: memref<4x16x8xf32>, %x: memref<8x64xf32>, %dy: memref<8x32xf32>) {
  // expected-error @+1 {{dvalues has shape [4, 16, 8], expected [4, 16, 16], the block of}}
  smet.sddmm ins(%t, %x, %dy : !t, memref<8x64xf32>, memref<8x32xf32>) outs(%w : memref<4x16x8xf32>)
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @age(%t: !t, %w: memref<4x16x16xf32>, %lr: memref<f32>, %step: memref<i64>, %age: memref<3xi16>) {
  // expected-error @+1 {{age has shape [3], expected [4], the active blocks of}}
  smet.adam_step ins(%t, %w, %lr, %step : !t, memref<4x16x16xf32>, memref<f32>, memref<i64>)
    outs(%w, %w, %w, %age : memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4x16x16xf32>, memref<3xi16>) {adamw = #smet.adamw<>}
  return
}

// -----

func.func @dense(%w: memref<4x16xf32>, %m: memref<4x15xf32>, %lr: memref<f32>, %step: memref<i64>) {
  // expected-error @+1 {{m has shape [4, 15], expected [4, 16], the shape of grad}}
  smet.dense_adam_step ins(%w, %lr, %step : memref<4x16xf32>, memref<f32>, memref<i64>)
    outs(%w, %m, %w : memref<4x16xf32>, memref<4x15xf32>, memref<4x16xf32>) {adamw = #smet.adamw<>}
  return
}

// -----

func.func @widen(%w: memref<4x16x16xbf16>, %wide: memref<5x16x16xf32>) {
  // expected-error @+1 {{wide has shape [5, 16, 16], expected [4, 16, 16]}}
  smet.widen ins(%w : memref<4x16x16xbf16>) outs(%wide : memref<5x16x16xf32>)
  return
}

// -----

func.func @score(%w: memref<4x16x16xf32>, %s: memref<5xf32>) {
  // expected-error @+1 {{score has shape [5], expected [4], the slots of values ([4, 16, 16])}}
  smet.score ins(%w : memref<4x16x16xf32>) outs(%s : memref<5xf32>)
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @layer(%t: !t, %seed: tensor<i64>) {
  // expected-error @+1 {{layer must be at least 0, got -1}}
  %0 = smet.topology.init %seed into %t {layer = -1} : tensor<i64>, !t
  return
}

// -----

func.func @std(%w: tensor<4x4xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{std must be at least 0 and finite, got -1}}
  %0 = smet.init_normal %seed into %w {layer = 0, std = -1.0} : tensor<i64>, tensor<4x4xf32>
  return
}

// -----

func.func @dest(%w: tensor<4x4xi32>, %seed: tensor<i64>) {
  // expected-error @+1 {{dest must have a float element type, got 'i32'}}
  %0 = smet.init_normal %seed into %w {layer = 0, std = 1.0} : tensor<i64>, tensor<4x4xi32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @keep(%t: !t, %s: tensor<4xf32>, %r: tensor<f64>) {
  // expected-error @+1 {{keep has shape [3], expected [4], the active blocks of}}
  %0 = smet.prune %t, %s, %r : !t, tensor<4xf32>, tensor<f64> -> tensor<3xi8>
  return
}

// -----

func.func @remap(%m: tensor<4xi32>, %a: tensor<f32>) {
  // expected-error @+1 {{array has shape [], expected [4, ...]}}
  %0 = smet.remap %m, %a : tensor<4xi32>, tensor<f32>
  return
}

// -----

func.func @gemm(%a: memref<4x8xf32>, %b: memref<7x4xf32>, %c: memref<4x4xf32>) {
  // expected-error @+1 {{b has shape [7, 4], expected [8, N], the features of a ([4, 8])}}
  smet.gemm %a, %b into %c {alpha = 1.0 : f32, beta = 0.0 : f32} : memref<4x8xf32>, memref<7x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @gemm(%a: memref<4x8xf32, strided<[16, 2]>>, %b: memref<8x4xf32>, %c: memref<4x4xf32>) {
  // expected-error @+1 {{a must be row-major with unit inner stride}}
  smet.gemm %a, %b into %c {alpha = 1.0 : f32, beta = 0.0 : f32} : memref<4x8xf32, strided<[16, 2]>>, memref<8x4xf32>, memref<4x4xf32>
  return
}

// -----

func.func @loss(%l: tensor<2xf32>) {
  // expected-error @+1 {{value has shape [2], expected []}}
  smet.check_finite %l : tensor<2xf32>
  return
}

// -----

func.func @pack(%a: memref<3xi32>) {
  // expected-error @+1 {{expected the 5 arrays of a topology, got 1}}
  %0 = smet.topology.pack %a : memref<3xi32> -> !smet.topology<32x64, block = [16, 16], nnz = 4>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @pack(%p: memref<3xi32>, %c: memref<4xi32>, %tp: memref<5xi32>, %s: memref<4xi16>) {
  // expected-error @+1 {{coordinates has shape [4] of 'i32', expected [4] of 'i16'}}
  %0 = smet.topology.pack %p, %c, %tp, %s, %c : memref<3xi32>, memref<4xi32>, memref<5xi32>, memref<4xi16>, memref<4xi32> -> !t
  return
}

// -----

func.func @kernel(%x: tensor<4xf32>) {
  // expected-error @+1 {{kernel @missing does not name a function}}
  %0 = smet.dispatch @missing ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @fit(%x: tensor<4xf32>) {
  // expected-error @+1 {{kernel @kernel takes 1 arguments, got 2}}
  %0 = smet.dispatch @kernel ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @kernel(tensor<4xf32>)

// -----

func.func @fit(%x: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 of type 'tensor<4xf32>' does not fit argument of type 'tensor<?xf64>' of @kernel}}
  %0 = smet.dispatch @kernel ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @kernel(tensor<?xf64>, tensor<?xf32>)

// -----

func.func @fit(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %x: memref<4xf32>) {
  // expected-error @+1 {{operand #0 of type '!smet.topology<32x64, block = [16, 16], nnz = 4>' does not fit argument of type '!smet.topology<64x32, block = [16, 16], nnz = ?>' of @kernel}}
  smet.dispatch @kernel ins(%t : !smet.topology<32x64, block = [16, 16], nnz = 4>) outs(%x : memref<4xf32>)
  return
}
func.func private @kernel(!smet.topology<64x32, block = [16, 16], nnz = ?>, memref<?xf32>)

// -----

func.func @mixed(%x: tensor<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{mixes tensors and memrefs}}
  smet.dispatch @kernel ins(%x : tensor<4xf32>) outs(%y : memref<4xf32>)
  return
}
func.func private @kernel(tensor<?xf32>, memref<?xf32>)

// -----

func.func @routine(%x: memref<4xi32>) {
  // expected-error @+1 {{'smet.routine' op has no routine name}}
  smet.routine "" ins() outs(%x : memref<4xi32>) words []
  return
}

// -----

func.func @routine(%x: tensor<4xi32>, %y: memref<4xi32>) {
  // expected-error @+1 {{'smet.routine' op mixes tensors and memrefs}}
  smet.routine "remap" ins(%x : tensor<4xi32>) outs(%y : memref<4xi32>) words []
  return
}

// -----

func.func @unpack(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>) {
  // expected-error @+1 {{expected the 5 arrays of a topology, got 2}}
  %0:2 = smet.topology.unpack %t : !smet.topology<32x64, block = [16, 16], nnz = 4> -> tensor<3xi32>, tensor<4xi16>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @unpack(%t: !t) {
  // expected-error @+1 {{t_positions has shape [4] of 'i32', expected [5] of 'i32' for '!smet.topology<32x64, block = [16, 16], nnz = 4>'}}
  %0:5 = smet.topology.unpack %t : !t -> tensor<3xi32>, tensor<4xi16>, tensor<4xi32>, tensor<4xi16>, tensor<4xi32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @pack_mixed(%p: memref<3xi32>, %c: memref<4xi16>, %tp: memref<5xi32>, %perm: tensor<4xi32>) {
  // expected-error @+1 {{mixes tensors and memrefs}}
  %0 = smet.topology.pack %p, %c, %tp, %c, %perm : memref<3xi32>, memref<4xi16>, memref<5xi32>, memref<4xi16>, tensor<4xi32> -> !t
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @linear(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<8x64xf32>, %y: tensor<8x64xf32>) {
  // expected-error @+1 {{y has shape [8, 64], expected [8, 32], the rows of !smet.topology<32x64, block = [16, 16], nnz = 4>}}
  %0 = smet.linear ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<8x64xf32>) outs(%y : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @lr(%t: !t, %w: memref<4x16x16xf32>, %x: memref<8x64xf32>, %dy: memref<8x32xf32>, %lr: memref<1xf32>, %step: memref<i64>, %age: memref<4xi16>) {
  // expected-error @+1 {{lr has shape [1], expected []}}
  smet.sddmm_adam ins(%t, %x, %dy, %lr, %step : !t, memref<8x64xf32>, memref<8x32xf32>, memref<1xf32>, memref<i64>)
    outs(%w, %w, %w, %age : memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4xi16>) {adamw = #smet.adamw<>}
  return
}

// -----

func.func @dense_lr(%w: memref<4x16xf32>, %lr: memref<4x16xf32>, %step: memref<i64>) {
  // expected-error @+1 {{lr has shape [4, 16], expected []}}
  smet.dense_adam_step ins(%w, %lr, %step : memref<4x16xf32>, memref<4x16xf32>, memref<i64>)
    outs(%w, %w, %w : memref<4x16xf32>, memref<4x16xf32>, memref<4x16xf32>) {adamw = #smet.adamw<>}
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @dense(%t: !t, %w: memref<4x16x16xf32>, %d: memref<64x32xf32>) {
  // expected-error @+1 {{dense has shape [64, 32], expected [32, 64], the rows of}}
  smet.to_dense ins(%t, %w : !t, memref<4x16x16xf32>) outs(%d : memref<64x32xf32>)
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @dense(%t: !t, %w: memref<4x16xf32>, %d: memref<32x64xf32>) {
  // expected-error @+1 {{values has shape [4, 16], expected [4, 16, 16]}}
  smet.from_dense ins(%t, %d : !t, memref<32x64xf32>) outs(%w : memref<4x16xf32>)
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @seed(%t: !t, %seed: tensor<1xi64>) {
  // expected-error @+1 {{seed has shape [1], expected []}}
  %0 = smet.topology.init %seed into %t {layer = 0} : tensor<1xi64>, !t
  return
}

// -----

func.func @layer(%w: tensor<4x4xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{layer must be at least 0, got -7}}
  %0 = smet.init_normal %seed into %w {layer = -7, std = 1.0} : tensor<i64>, tensor<4x4xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @dest(%t: !t, %w: tensor<32x64xf32>, %seed: tensor<i64>) {
  // expected-error @+1 {{dest has shape [32, 64], expected [4, 16, 16]}}
  %0 = smet.init_normal %seed at %t : !t into %w {layer = 0, std = 1.0} : tensor<i64>, tensor<32x64xf32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @grow(%t: !t, %keep: tensor<4xi8>, %s: tensor<i64>) {
  // expected-error @+1 {{'smet.grow' op layer must be at least 0, got -1}}
  %0 = smet.grow <random> %t, %keep, %s, %s {layer = -1} : !t, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @grow(%t: !t, %keep: tensor<4xi8>, %s: tensor<i64>) {
  // expected-error @+1 {{grown has shape [5], expected [4], the active blocks of}}
  %0 = smet.grow <random> %t, %keep, %s, %s {layer = 0} : !t, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<5xi32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @growth(%t: !t, %keep: tensor<4xi8>, %s: tensor<i64>) {
  // expected-error @+2 {{expected ::smet::Growth to be one of: random}}
  // expected-error @+1 {{failed to parse Smet_GrowthAttr parameter 'value'}}
  %0 = smet.grow <eagerly> %t, %keep, %s, %s {layer = 0} : !t, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @slot_map(%t: !t, %keep: tensor<4xi8>, %grown: tensor<4xi32>) {
  // expected-error @+1 {{slot_map has shape [3], expected [4], the active blocks of}}
  %0, %1 = smet.update_topology %t, %keep, %grown : !t, tensor<4xi8>, tensor<4xi32> -> tensor<3xi32>
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @element(%t: !t, %w: memref<4x16x16xi32>, %x: memref<8x64xf32>, %y: memref<8x32xf32>) {
  // expected-error @+1 {{operand #1 must be tensor or memref of bf16, f32 or f64, but got 'memref<4x16x16xi32>'}}
  smet.spmm ins(%t, %w, %x : !t, memref<4x16x16xi32>, memref<8x64xf32>) outs(%y : memref<8x32xf32>)
  return
}

// -----

func.func @topology(%t: tensor<4xi32>, %w: memref<4x16x16xf32>, %x: memref<8x64xf32>, %y: memref<8x32xf32>) {
  // expected-error @+1 {{operand #0 must be topology: the active R x C blocks of an N x K matrix, but got 'tensor<4xi32>'}}
  smet.spmm ins(%t, %w, %x : tensor<4xi32>, memref<4x16x16xf32>, memref<8x64xf32>) outs(%y : memref<8x32xf32>)
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>
func.func @mask(%t: !t, %mask: tensor<64x32xi8>) {
  // expected-error @+1 {{'smet.from_mask' op mask has shape [64, 32], expected [32, 64], the rows of !smet.topology<32x64}}
  %0 = smet.from_mask %mask into %t : tensor<64x32xi8>, !t
  return
}
