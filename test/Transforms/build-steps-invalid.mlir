// RUN: smet-opt %s --smet-differentiate --smet-build-steps --split-input-file --verify-diagnostics

// expected-error @below {{result 'y' is not computed by an op that writes to a destination}}
func.func @same(%x: tensor<f32> {smet.name = "x", smet.role = "input"}) -> (tensor<f32> {smet.name = "y", smet.role = "output"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{argument #0 needs smet.name and smet.role}}
func.func @nameless(%x: tensor<f32>) -> (tensor<f32> {smet.name = "y", smet.role = "output"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{parameter "w" needs a tensor type, smet.layer and smet.init = {normal = std} or {fill = value}}}
func.func @forward(%w: tensor<f32> {smet.name = "w", smet.role = "param"}) -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{the module needs smet.adamw for a training step}}
module {
func.func @forward(%w: tensor<f32> {smet.name = "w", smet.role = "param", smet.layer = 0 : i64, smet.init = {fill = 1.0}}) -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %w : tensor<f32>
}
}
