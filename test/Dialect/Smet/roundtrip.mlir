// Every op with its optional parts, printed as it was written, on tensors and memrefs, through both forms.
// RUN: smet-opt %s | smet-opt | FileCheck %s
// RUN: smet-opt %s -mlir-print-op-generic | smet-opt | FileCheck %s
// RUN: smet-opt %s -emit-bytecode | smet-opt | FileCheck %s

// CHECK-LABEL: @linear
func.func @linear(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: tensor<4x16x16xf32>, %x: tensor<8x64xf32>, %e: tensor<8x32xf32>) {
  // CHECK: smet.linear ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<8x64xf32>) outs({{.*}} : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = smet.linear ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<8x64xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  return
}

// CHECK-LABEL: @linear_memref
func.func @linear_memref(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: memref<4x16x16xf32>, %x: memref<8x64xf32>, %e: memref<8x32xf32>) {
  // CHECK: smet.linear ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<8x64xf32>) outs({{.*}} : memref<8x32xf32>)
  smet.linear ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<8x64xf32>) outs(%e : memref<8x32xf32>)
  return
}

// CHECK-LABEL: @spmm
func.func @spmm(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: tensor<4x16x16xf32>, %x: tensor<8x64xf32>, %e: tensor<8x32xf32>) {
  // CHECK: smet.spmm ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<8x64xf32>) outs({{.*}} : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = smet.spmm ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<8x64xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  return
}

// CHECK-LABEL: @spmm_memref
func.func @spmm_memref(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: memref<4x16x16xf32>, %x: memref<8x64xf32>, %e: memref<8x32xf32>) {
  // CHECK: smet.spmm ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<8x64xf32>) outs({{.*}} : memref<8x32xf32>)
  smet.spmm ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<8x64xf32>) outs(%e : memref<8x32xf32>)
  return
}

// CHECK-LABEL: @spmm_transpose
func.func @spmm_transpose(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: tensor<4x16x16xf32>, %x: tensor<1x32x8xf32>, %e: tensor<1x64x8xf32>) {
  // CHECK: smet.spmm ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<1x32x8xf32>) outs({{.*}} : tensor<1x64x8xf32>) {accumulate, transpose} -> tensor<1x64x8xf32>
  %0 = smet.spmm ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<1x32x8xf32>) outs(%e : tensor<1x64x8xf32>) {accumulate, transpose} -> tensor<1x64x8xf32>
  return
}

// CHECK-LABEL: @spmm_transpose_memref
func.func @spmm_transpose_memref(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: memref<4x16x16xf32>, %x: memref<1x32x8xf32>, %e: memref<1x64x8xf32>) {
  // CHECK: smet.spmm ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<1x32x8xf32>) outs({{.*}} : memref<1x64x8xf32>) {accumulate, transpose}
  smet.spmm ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<1x32x8xf32>) outs(%e : memref<1x64x8xf32>) {accumulate, transpose}
  return
}

// CHECK-LABEL: @sddmm
func.func @sddmm(%t: !smet.topology<32x64, block = [1, 8], nnz = ?>, %x: tensor<8x64xbf16>, %dy: tensor<8x32xbf16>, %e: tensor<?x1x8xbf16>) {
  // CHECK: smet.sddmm ins({{.*}} : !smet.topology<32x64, block = [1, 8], nnz = ?>, tensor<8x64xbf16>, tensor<8x32xbf16>) outs({{.*}} : tensor<?x1x8xbf16>) {accumulate} -> tensor<?x1x8xbf16>
  %0 = smet.sddmm ins(%t, %x, %dy : !smet.topology<32x64, block = [1, 8], nnz = ?>, tensor<8x64xbf16>, tensor<8x32xbf16>) outs(%e : tensor<?x1x8xbf16>) {accumulate} -> tensor<?x1x8xbf16>
  return
}

// CHECK-LABEL: @sddmm_memref
func.func @sddmm_memref(%t: !smet.topology<32x64, block = [1, 8], nnz = ?>, %x: memref<8x64xbf16>, %dy: memref<8x32xbf16>, %e: memref<?x1x8xbf16>) {
  // CHECK: smet.sddmm ins({{.*}} : !smet.topology<32x64, block = [1, 8], nnz = ?>, memref<8x64xbf16>, memref<8x32xbf16>) outs({{.*}} : memref<?x1x8xbf16>) {accumulate}
  smet.sddmm ins(%t, %x, %dy : !smet.topology<32x64, block = [1, 8], nnz = ?>, memref<8x64xbf16>, memref<8x32xbf16>) outs(%e : memref<?x1x8xbf16>) {accumulate}
  return
}

// CHECK-LABEL: @adam_step
func.func @adam_step(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %g: tensor<4x16x16xf32>, %lr: tensor<f32>, %step: tensor<i64>, %w: tensor<4x16x16xf32>, %m: tensor<4x16x16xf32>, %v: tensor<4x16x16xf32>, %age: tensor<4xi16>) {
  // CHECK: smet.adam_step ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<f32>, tensor<i64>) outs({{.*}} : tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>) {adamw = #smet.adamw<beta1 = 5.000000e-01, beta2 = 7.500000e-01, eps = 9.9999999999999995E-7, weight_decay = 1.000000e-01, warmup_updates = 0, lr_scaling = false>} -> tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>
  %0:4 = smet.adam_step ins(%t, %g, %lr, %step : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<f32>, tensor<i64>) outs(%w, %m, %v, %age : tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>) {adamw = #smet.adamw<beta1 = 5.000000e-01, beta2 = 7.500000e-01, eps = 9.9999999999999995E-7, weight_decay = 1.000000e-01, warmup_updates = 0, lr_scaling = false>} -> tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>
  return
}

// CHECK-LABEL: @adam_step_memref
func.func @adam_step_memref(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %g: memref<4x16x16xf32>, %lr: memref<f32>, %step: memref<i64>, %w: memref<4x16x16xf32>, %m: memref<4x16x16xf32>, %v: memref<4x16x16xf32>, %age: memref<4xi16>) {
  // CHECK: smet.adam_step ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<f32>, memref<i64>) outs({{.*}} : memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4xi16>) {adamw = #smet.adamw<beta1 = 5.000000e-01, beta2 = 7.500000e-01, eps = 9.9999999999999995E-7, weight_decay = 1.000000e-01, warmup_updates = 0, lr_scaling = false>}
  smet.adam_step ins(%t, %g, %lr, %step : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>, memref<f32>, memref<i64>) outs(%w, %m, %v, %age : memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4xi16>) {adamw = #smet.adamw<beta1 = 5.000000e-01, beta2 = 7.500000e-01, eps = 9.9999999999999995E-7, weight_decay = 1.000000e-01, warmup_updates = 0, lr_scaling = false>}
  return
}

// CHECK-LABEL: @dense_adam_step
func.func @dense_adam_step(%g: tensor<8x4xf64>, %lr: tensor<f64>, %step: tensor<i64>, %w: tensor<8x4xf64>, %m: tensor<8x4xf64>, %v: tensor<8x4xf64>) {
  // CHECK: smet.dense_adam_step ins({{.*}} : tensor<8x4xf64>, tensor<f64>, tensor<i64>) outs({{.*}} : tensor<8x4xf64>, tensor<8x4xf64>, tensor<8x4xf64>) {adamw = #smet.adamw<>} -> tensor<8x4xf64>, tensor<8x4xf64>, tensor<8x4xf64>
  %0:3 = smet.dense_adam_step ins(%g, %lr, %step : tensor<8x4xf64>, tensor<f64>, tensor<i64>) outs(%w, %m, %v : tensor<8x4xf64>, tensor<8x4xf64>, tensor<8x4xf64>) {adamw = #smet.adamw<>} -> tensor<8x4xf64>, tensor<8x4xf64>, tensor<8x4xf64>
  return
}

// CHECK-LABEL: @dense_adam_step_memref
func.func @dense_adam_step_memref(%g: memref<8x4xf64>, %lr: memref<f64>, %step: memref<i64>, %w: memref<8x4xf64>, %m: memref<8x4xf64>, %v: memref<8x4xf64>) {
  // CHECK: smet.dense_adam_step ins({{.*}} : memref<8x4xf64>, memref<f64>, memref<i64>) outs({{.*}} : memref<8x4xf64>, memref<8x4xf64>, memref<8x4xf64>) {adamw = #smet.adamw<>}
  smet.dense_adam_step ins(%g, %lr, %step : memref<8x4xf64>, memref<f64>, memref<i64>) outs(%w, %m, %v : memref<8x4xf64>, memref<8x4xf64>, memref<8x4xf64>) {adamw = #smet.adamw<>}
  return
}

// CHECK-LABEL: @sddmm_adam
func.func @sddmm_adam(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %x: tensor<8x64xf32>, %dy: tensor<8x32xf32>, %lr: tensor<f32>, %step: tensor<i64>, %w: tensor<4x16x16xf32>, %m: tensor<4x16x16xf32>, %v: tensor<4x16x16xf32>, %age: tensor<4xi16>) {
  // CHECK: smet.sddmm_adam ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<8x64xf32>, tensor<8x32xf32>, tensor<f32>, tensor<i64>) outs({{.*}} : tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>) {adamw = #smet.adamw<warmup_updates = 3>} -> tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>
  %0:4 = smet.sddmm_adam ins(%t, %x, %dy, %lr, %step : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<8x64xf32>, tensor<8x32xf32>, tensor<f32>, tensor<i64>) outs(%w, %m, %v, %age : tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>) {adamw = #smet.adamw<warmup_updates = 3>} -> tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>
  return
}

// CHECK-LABEL: @sddmm_adam_memref
func.func @sddmm_adam_memref(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %x: memref<8x64xf32>, %dy: memref<8x32xf32>, %lr: memref<f32>, %step: memref<i64>, %w: memref<4x16x16xf32>, %m: memref<4x16x16xf32>, %v: memref<4x16x16xf32>, %age: memref<4xi16>) {
  // CHECK: smet.sddmm_adam ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<8x64xf32>, memref<8x32xf32>, memref<f32>, memref<i64>) outs({{.*}} : memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4xi16>) {adamw = #smet.adamw<warmup_updates = 3>}
  smet.sddmm_adam ins(%t, %x, %dy, %lr, %step : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<8x64xf32>, memref<8x32xf32>, memref<f32>, memref<i64>) outs(%w, %m, %v, %age : memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4x16x16xf32>, memref<4xi16>) {adamw = #smet.adamw<warmup_updates = 3>}
  return
}

// CHECK-LABEL: @score
func.func @score(%w: tensor<4x16x16xf32>, %e: tensor<4xf32>) {
  // CHECK: smet.score ins({{.*}} : tensor<4x16x16xf32>) outs({{.*}} : tensor<4xf32>) -> tensor<4xf32>
  %0 = smet.score ins(%w : tensor<4x16x16xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @widen
func.func @widen(%w: tensor<4x16x16xbf16>, %e: tensor<4x16x16xf32>) {
  // CHECK: smet.widen ins({{.*}} : tensor<4x16x16xbf16>) outs({{.*}} : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %0 = smet.widen ins(%w : tensor<4x16x16xbf16>) outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return
}

// CHECK-LABEL: @score_memref
func.func @score_memref(%w: memref<4x16x16xf32>, %e: memref<4xf32>) {
  // CHECK: smet.score ins({{.*}} : memref<4x16x16xf32>) outs({{.*}} : memref<4xf32>)
  smet.score ins(%w : memref<4x16x16xf32>) outs(%e : memref<4xf32>)
  return
}

// CHECK-LABEL: @to_dense
func.func @to_dense(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: tensor<4x16x16xf32>, %e: tensor<32x64xf32>) {
  // CHECK: smet.to_dense ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>) outs({{.*}} : tensor<32x64xf32>) -> tensor<32x64xf32>
  %0 = smet.to_dense ins(%t, %w : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return
}

// CHECK-LABEL: @to_dense_memref
func.func @to_dense_memref(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %w: memref<4x16x16xf32>, %e: memref<32x64xf32>) {
  // CHECK: smet.to_dense ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>) outs({{.*}} : memref<32x64xf32>)
  smet.to_dense ins(%t, %w : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<4x16x16xf32>) outs(%e : memref<32x64xf32>)
  return
}

// CHECK-LABEL: @from_dense
func.func @from_dense(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %d: tensor<32x64xf32>, %e: tensor<4x16x16xf32>) {
  // CHECK: smet.from_dense ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<32x64xf32>) outs({{.*}} : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %0 = smet.from_dense ins(%t, %d : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<32x64xf32>) outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return
}

// CHECK-LABEL: @from_dense_memref
func.func @from_dense_memref(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %d: memref<32x64xf32>, %e: memref<4x16x16xf32>) {
  // CHECK: smet.from_dense ins({{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<32x64xf32>) outs({{.*}} : memref<4x16x16xf32>)
  smet.from_dense ins(%t, %d : !smet.topology<32x64, block = [16, 16], nnz = 4>, memref<32x64xf32>) outs(%e : memref<4x16x16xf32>)
  return
}

// CHECK-LABEL: @topology_init
func.func @topology_init(%seed: tensor<i64>, %t: !smet.topology<32x64, block = [16, 16], nnz = 4>) {
  // CHECK: smet.topology.init {{.*}} into {{.*}} {layer = 3 : i64} : tensor<i64>, !smet.topology<32x64, block = [16, 16], nnz = 4>
  %0 = smet.topology.init %seed into %t {layer = 3 : i64} : tensor<i64>, !smet.topology<32x64, block = [16, 16], nnz = 4>
  return
}

// CHECK-LABEL: @from_mask
func.func @from_mask(%mask: tensor<32x64xi8>, %t: !smet.topology<32x64, block = [16, 16], nnz = 4>) {
  // CHECK: smet.from_mask {{.*}} into {{.*}} : tensor<32x64xi8>, !smet.topology<32x64, block = [16, 16], nnz = 4>
  %0 = smet.from_mask %mask into %t : tensor<32x64xi8>, !smet.topology<32x64, block = [16, 16], nnz = 4>
  return
}

// CHECK-LABEL: @init_normal
func.func @init_normal(%seed: tensor<i64>, %t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %d: tensor<8x4xf32>, %w: tensor<4x16x16xf32>) {
  // CHECK: smet.init_normal {{.*}} into {{.*}} {layer = 0 : i64, std = 2.000000e-02 : f64} : tensor<i64>, tensor<8x4xf32>
  %0 = smet.init_normal %seed into %d {layer = 0 : i64, std = 2.000000e-02 : f64} : tensor<i64>, tensor<8x4xf32>
  // CHECK: smet.init_normal {{.*}} at {{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4> into {{.*}} {layer = 3 : i64, std = 2.000000e-02 : f64} : tensor<i64>, tensor<4x16x16xf32>
  %1 = smet.init_normal %seed at %t : !smet.topology<32x64, block = [16, 16], nnz = 4> into %w {layer = 3 : i64, std = 2.000000e-02 : f64} : tensor<i64>, tensor<4x16x16xf32>
  return
}

// CHECK-LABEL: @fill
func.func @fill(%a: tensor<4xi16>) {
  // CHECK: smet.fill into {{.*}} {value = 0.000000e+00 : f64} : tensor<4xi16>
  %0 = smet.fill into %a {value = 0.000000e+00 : f64} : tensor<4xi16>
  return
}

// CHECK-LABEL: @update
func.func @update(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %score: tensor<4xf32>, %rate: tensor<f64>, %seed: tensor<i64>, %update: tensor<i64>, %m: tensor<4x16x16xf32>) {
  // CHECK: smet.prune {{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xf32>, tensor<f64> -> tensor<4xi8>
  %keep = smet.prune %t, %score, %rate : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xf32>, tensor<f64> -> tensor<4xi8>
  // CHECK: smet.grow <random> {{.*}} {layer = 3 : i64} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
  %grown = smet.grow <random> %t, %keep, %seed, %update {layer = 3 : i64} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
  // CHECK: smet.grow <random> {{.*}} {layer = 3 : i64, regrow_pruned} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
  %again = smet.grow <random> %t, %keep, %seed, %update {layer = 3 : i64, regrow_pruned} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
  // CHECK: smet.update_topology {{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<4xi32> -> tensor<4xi32>
  %new, %map = smet.update_topology %t, %keep, %grown : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<4xi32> -> tensor<4xi32>
  // CHECK: smet.remap {{.*}} : tensor<4xi32>, tensor<4x16x16xf32>
  %m1 = smet.remap %map, %m : tensor<4xi32>, tensor<4x16x16xf32>
  return
}

// CHECK-LABEL: @routine
func.func @routine(%s: tensor<4xf32>, %r: tensor<f64>, %e: tensor<4xi8>, %m: memref<4xi8>) {
  // CHECK: smet.routine "prune" ins({{.*}} : tensor<4xf32>, tensor<f64>) outs({{.*}} : tensor<4xi8>) words [4, 8] -> tensor<4xi8>
  %0 = smet.routine "prune" ins(%s, %r : tensor<4xf32>, tensor<f64>) outs(%e : tensor<4xi8>) words [4, 8] -> tensor<4xi8>
  // CHECK: smet.routine "fill" ins() outs({{.*}} : memref<4xi8>) words [4, 0]
  smet.routine "fill" ins() outs(%m : memref<4xi8>) words [4, 0]
  // CHECK: smet.routine "nothing" ins() outs() words []
  smet.routine "nothing" ins() outs() words []
  return
}

// CHECK-LABEL: @gemm
func.func @gemm(%a: memref<8x4xf32>, %b: memref<4x6xf32>, %c: memref<8x6xf32>, %at: memref<4x8xf32>, %bt: memref<6x4xf32, strided<[16, 1], offset: ?>>) {
  // CHECK: smet.gemm {{.*}} into {{.*}} {alpha = 1.000000e+00 : f32, beta = 0.000000e+00 : f32} : memref<8x4xf32>, memref<4x6xf32>, memref<8x6xf32>
  smet.gemm %a, %b into %c {alpha = 1.000000e+00 : f32, beta = 0.000000e+00 : f32} : memref<8x4xf32>, memref<4x6xf32>, memref<8x6xf32>
  // CHECK: smet.gemm {{.*}} into {{.*}} {alpha = 5.000000e-01 : f32, beta = 1.000000e+00 : f32, transpose_a, transpose_b} : memref<4x8xf32>, memref<6x4xf32, strided<[16, 1], offset: ?>>, memref<8x6xf32>
  smet.gemm %at, %bt into %c {alpha = 5.000000e-01 : f32, beta = 1.000000e+00 : f32, transpose_a, transpose_b} : memref<4x8xf32>, memref<6x4xf32, strided<[16, 1], offset: ?>>, memref<8x6xf32>
  return
}

// CHECK-LABEL: @check_finite
func.func @check_finite(%l: tensor<f32>, %m: memref<f64>) {
  // CHECK: smet.check_finite {{.*}} : tensor<f32>
  smet.check_finite %l : tensor<f32>
  // CHECK: smet.check_finite {{.*}} : memref<f64>
  smet.check_finite %m : memref<f64>
  return
}

// CHECK-LABEL: @arrays
func.func @arrays(%t: !smet.topology<32x64, block = [16, 16], nnz = 4>, %p: memref<3xi32>, %c: memref<4xi16>, %tp: memref<5xi32>, %perm: memref<4xi32>) {
  // CHECK: smet.topology.unpack {{.*}} : !smet.topology<32x64, block = [16, 16], nnz = 4> -> tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>
  %0:5 = smet.topology.unpack %t : !smet.topology<32x64, block = [16, 16], nnz = 4> -> tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>
  // CHECK: smet.topology.pack {{.*}} : tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32> -> !smet.topology<32x64, block = [16, 16], nnz = 4>
  %1 = smet.topology.pack %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32> -> !smet.topology<32x64, block = [16, 16], nnz = 4>
  // CHECK: smet.topology.pack {{.*}} : memref<3xi32>, memref<4xi16>, memref<5xi32>, memref<4xi16>, memref<4xi32> -> !smet.topology<32x64, block = [16, 16], nnz = 4>
  %2 = smet.topology.pack %p, %c, %tp, %c, %perm : memref<3xi32>, memref<4xi16>, memref<5xi32>, memref<4xi16>, memref<4xi32> -> !smet.topology<32x64, block = [16, 16], nnz = 4>
  return
}

// CHECK-LABEL: @wide_coordinates
func.func @wide_coordinates(%t: !smet.topology<2x65537, block = [1, 1], nnz = 4>) {
  // CHECK: smet.topology.unpack {{.*}} : !smet.topology<2x65537, block = [1, 1], nnz = 4> -> tensor<3xi32>, tensor<4xi32>, tensor<65538xi32>, tensor<4xi16>, tensor<4xi32>
  %0:5 = smet.topology.unpack %t : !smet.topology<2x65537, block = [1, 1], nnz = 4> -> tensor<3xi32>, tensor<4xi32>, tensor<65538xi32>, tensor<4xi16>, tensor<4xi32>
  return
}

module @kernel {
  func.func @main(%values: tensor<?x16x16xf32>, %score: tensor<?xf32>) -> tensor<?xf32> {
    %0 = smet.score ins(%values : tensor<?x16x16xf32>) outs(%score : tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
func.func private @effect()
// CHECK-LABEL: @dispatch
func.func @dispatch(%w: tensor<4x16x16xf32>, %e: tensor<4xf32>, %m: memref<4x16x16xf32>, %s: memref<4xf32>) {
  // CHECK: smet.dispatch @kernel::@main ins({{.*}} : tensor<4x16x16xf32>) outs({{.*}} : tensor<4xf32>) -> tensor<4xf32>
  %0 = smet.dispatch @kernel::@main ins(%w : tensor<4x16x16xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // CHECK: smet.dispatch @kernel::@main ins({{.*}} : memref<4x16x16xf32>) outs({{.*}} : memref<4xf32>) {smet.remat = 1 : i64}
  smet.dispatch @kernel::@main ins(%m : memref<4x16x16xf32>) outs(%s : memref<4xf32>) {smet.remat = 1 : i64}
  // CHECK: smet.dispatch @effect ins() outs()
  smet.dispatch @effect ins() outs()
  return
}
