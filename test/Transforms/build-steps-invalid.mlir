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

// expected-error @below {{parameter "w" needs a static tensor type, smet.layer (i64) and smet.init = {normal = std} or {fill = value}, got 'tensor<f32>'}}
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

// -----

// expected-error @below {{expected a body of one block that ends in a return}}
func.func private @declared(tensor<f32> {smet.name = "x", smet.role = "input"})

// -----

// expected-error @below {{expected a body of one block that ends in a return}}
func.func @blocks(%x: tensor<f32> {smet.name = "x", smet.role = "input"}) {
  cf.br ^next
^next:
  return
}

// -----

// expected-error @below {{result #0 needs smet.name and smet.role}}
func.func @nameless(%x: tensor<f32> {smet.name = "x", smet.role = "input"}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{two arguments of @f are called 'x'; each tensor of a program needs a name of its own}}
func.func @f(%x: tensor<f32> {smet.name = "x", smet.role = "input"}, %y: tensor<f32> {smet.name = "x", smet.role = "input"}) {
  return
}

// -----

!x = tensor<f32>
// expected-error @below {{two results of @f are called 'y'; a tensor has one value at the end}}
func.func @f(%x: !x {smet.name = "x", smet.role = "input"})
    -> (!x {smet.name = "y", smet.role = "output"}, !x {smet.name = "y", smet.role = "output"}) {
  %e0 = tensor.empty() : !x
  %0 = nn.add ins(%x, %x : !x, !x) outs(%e0 : !x) -> !x
  %e1 = tensor.empty() : !x
  %1 = nn.add ins(%x, %x : !x, !x) outs(%e1 : !x) -> !x
  return %0, %1 : !x, !x
}

// -----

func.func @f(%x: tensor<f32> {smet.name = "x", smet.role = "input"}, %s: tensor<2xf32> {smet.name = "y", smet.role = "state"})
    -> (tensor<f32> {smet.name = "y", smet.role = "state"}) {
  %e = tensor.empty() : tensor<f32>
  // expected-error @below {{'y' is 'tensor<f32>' here, but the tensor of this name is 'tensor<2xf32>'}}
  %0 = nn.add ins(%x, %x : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @f(%x: tensor<f32> {smet.name = "x", smet.role = "input"}, %s: tensor<f32> {smet.name = "s", smet.role = "state"})
    -> (tensor<f32> {smet.name = "y", smet.role = "output"}) {
  // expected-error @below {{result 'y' already has another destination}}
  %0 = nn.add ins(%x, %x : tensor<f32>, tensor<f32>) outs(%s : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

!t = !smet.topology<32x32, block = [16, 16], nnz = 2>
module attributes {smet.adamw = #smet.adamw<>} {
// expected-error @below {{'w' is 'tensor<3x16x16xf32>', but its topology 't' is '!smet.topology<32x32, block = [16, 16], nnz = 2>'}}
func.func @forward(%w: tensor<3x16x16xf32> {smet.name = "w", smet.role = "param", smet.layer = 0 : i64, smet.init = {normal = 1.0}, smet.topology = "t"},
                   %t: !t {smet.name = "t", smet.role = "topology"},
                   %b: tensor<f32> {smet.name = "b", smet.role = "param", smet.layer = 1 : i64, smet.init = {fill = 1.0}})
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %b : tensor<f32>
}
}

// -----

module attributes {smet.adamw = #smet.adamw<>} {
// expected-error @below {{'w' names a topology 't' that is no argument of topology type}}
func.func @forward(%w: tensor<3x16x16xf32> {smet.name = "w", smet.role = "param", smet.layer = 0 : i64, smet.init = {normal = 1.0}, smet.topology = "t"},
                   %b: tensor<f32> {smet.name = "b", smet.role = "param", smet.layer = 1 : i64, smet.init = {fill = 1.0}})
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  return %b : tensor<f32>
}
}

// -----

// expected-error @below {{smet.growth must be #smet.growth<...>, got "random"}}
module attributes {smet.adamw = #smet.adamw<>, smet.growth = "random"} {
func.func @forward(%b: tensor<f32> {smet.name = "b", smet.role = "param", smet.layer = 1 : i64, smet.init = {fill = 1.0}})
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  %e = tensor.empty() : tensor<f32>
  %0 = nn.add ins(%b, %b : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
}
