// RUN: not smet-opt %s --smet-build-steps 2>&1 | FileCheck %s

// CHECK: error: smet-build-steps: there is no @forward_grad; run smet-differentiate first
func.func @forward(%x: tensor<f32> {smet.name = "x", smet.role = "input"}) -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %x : tensor<f32>
}
