// RUN: smet-opt %s -pass-pipeline='builtin.module(func.func(smet-schedule))' -split-input-file -verify-diagnostics | FileCheck %s

// The optimizer step moves behind the last read of the old weight.
// CHECK-LABEL: func.func @read_after_write
// CHECK:         nn.linear_grad_input
// CHECK:         smet.dense_adam_step
// CHECK-NEXT:    return
!w = tensor<8x4xf32>
func.func @read_after_write(%w: !w, %m: !w, %v: !w, %g: !w, %dy: tensor<2x8xf32>, %lr: tensor<f32>, %t: tensor<i64>)
    -> (!w, tensor<2x4xf32>) {
  %new:3 = smet.dense_adam_step ins(%g, %lr, %t : !w, tensor<f32>, tensor<i64>) outs(%w, %m, %v : !w, !w, !w)
    {adamw = #smet.adamw<>} -> !w, !w, !w
  %e = tensor.empty() : tensor<2x4xf32>
  %dx = nn.linear_grad_input ins(%dy, %w : tensor<2x8xf32>, !w) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %new#0, %dx : !w, tensor<2x4xf32>
}

// -----

!w = tensor<8x4xf32>
func.func @cycle(%w: !w, %b: !w) -> (!w, !w) {
  // expected-error @below {{state is read by an op that also needs its updated value}}
  %0 = nn.add ins(%b, %b : !w, !w) outs(%w : !w) -> !w
  %e = tensor.empty() : !w
  // expected-note @below {{the reader}}
  %1 = nn.add ins(%w, %0 : !w, !w) outs(%e : !w) -> !w
  return %0, %1 : !w, !w
}

// -----

// What the moved op feeds moves along, also into a region.
// CHECK-LABEL: func.func @region
// CHECK:         %[[READ:.*]] = nn.add ins(%arg0, %arg0 :
// CHECK-NEXT:    %[[NEW:.*]] = nn.fill outs(%arg0 :
// CHECK-NEXT:    scf.if
// CHECK:           nn.add ins(%[[NEW]], %[[NEW]] :
!w = tensor<4xf32>
func.func @region(%w: !w, %c: i1) -> (!w, !w, !w) {
  %new = nn.fill outs(%w : !w) {value = 1.0 : f64} -> !w
  %e = tensor.empty() : !w
  %0 = scf.if %c -> !w {
    %1 = nn.add ins(%new, %new : !w, !w) outs(%e : !w) -> !w
    scf.yield %1 : !w
  } else {
    scf.yield %e : !w
  }
  %e1 = tensor.empty() : !w
  %read = nn.add ins(%w, %w : !w, !w) outs(%e1 : !w) -> !w
  return %new, %0, %read : !w, !w, !w
}

// -----

// A write that is behind every read stays where it is.
// CHECK-LABEL: func.func @in_order
// CHECK:         nn.add
// CHECK-NEXT:    nn.fill
// CHECK-NEXT:    nn.fill outs(%arg1
func.func @in_order(%w: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = nn.add ins(%w, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.fill outs(%w : tensor<4xf32>) {value = 1.0 : f64} -> tensor<4xf32>
  %2 = nn.fill outs(%v : tensor<4xf32>) {value = 1.0 : f64} -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// On memrefs the op behind the writer reads the new value: nothing may move.
// CHECK-LABEL: func.func @memrefs
// CHECK-NEXT:    nn.fill
// CHECK-NEXT:    nn.add
func.func @memrefs(%w: memref<4xf32>, %y: memref<4xf32>) {
  nn.fill outs(%w : memref<4xf32>) {value = 1.0 : f64}
  nn.add ins(%w, %w : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
