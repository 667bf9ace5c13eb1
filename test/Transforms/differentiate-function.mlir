// RUN: smet-opt %s --smet-differentiate=function=loss_of | FileCheck %s

// CHECK-LABEL: func.func @loss_of_grad
// CHECK-SAME:    -> (tensor<f32>, tensor<f32> {smet.name = "w.grad", smet.role = "output"})
// CHECK:         %[[ONE:.*]] = nn.fill
// CHECK:         return %{{.*}}, %[[ONE]]
func.func @loss_of(%w: tensor<f32> {smet.name = "w", smet.role = "param"}, %x: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %y = nn.add ins(%w, %x : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
