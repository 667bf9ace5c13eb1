// RUN: not smet-opt %s --smet-differentiate=function=loss_of 2>&1 | FileCheck %s
// RUN: smet-opt %s --smet-differentiate | FileCheck %s --check-prefix=NONE

// A function that is asked for by name must be there; a module without @forward is one for inference.
// CHECK: error: smet-differentiate: there is no function @loss_of
// NONE:     func.func @decode
// NONE-NOT: func.func
func.func @decode(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
