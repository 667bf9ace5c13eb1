// RUN: smet-opt %s --smet-build-steps --split-input-file --verify-diagnostics

// expected-error @below {{there is no @forward_grad; run smet-differentiate first}}
func.func @forward(%x: tensor<f32> {smet.name = "x", smet.role = "input"}) -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %x : tensor<f32>
}

// -----

module attributes {smet.adamw = #smet.adamw<>} {
func.func @forward(%w: tensor<f32> {smet.name = "w", smet.role = "param", smet.layer = 0 : i64, smet.init = {fill = 1.0}})
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %w : tensor<f32>
}
// expected-error @below {{expected the loss and a gradient for each of 1 parameters}}
func.func @forward_grad(%w: tensor<f32> {smet.name = "w", smet.role = "param"}) -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %w : tensor<f32>
}
}

// -----

// A name that the training step needs for itself.
module attributes {smet.adamw = #smet.adamw<>} {
// expected-error @below {{two arguments of @train_step are called 'lr'; each tensor of a program needs a name of its own}}
func.func @forward(%w: tensor<f32> {smet.name = "w", smet.role = "param", smet.layer = 0 : i64, smet.init = {fill = 1.0}},
                   %x: tensor<f32> {smet.name = "lr", smet.role = "input"}) -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  %e = tensor.empty() : tensor<f32>
  %0 = nn.add ins(%w, %x : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @forward_grad(%w: tensor<f32> {smet.name = "w", smet.role = "param"}, %x: tensor<f32> {smet.name = "lr", smet.role = "input"})
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}, tensor<f32> {smet.name = "w.grad", smet.role = "output"}) {
  %e = tensor.empty() : tensor<f32>
  %0 = nn.add ins(%w, %x : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  %e1 = tensor.empty() : tensor<f32>
  %1 = nn.fill outs(%e1 : tensor<f32>) {value = 1.0 : f64} -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
}
