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
