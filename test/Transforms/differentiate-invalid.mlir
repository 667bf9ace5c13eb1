// RUN: smet-opt %s --smet-differentiate --split-input-file --verify-diagnostics

func.func @forward(%w: tensor<f32> {smet.role = "param"}) -> tensor<f32> {
  // expected-error @below {{'math.sqrt' stands between a parameter and the loss and has no gradient}}
  %y = math.sqrt %w : tensor<f32>
  return %y : tensor<f32>
}

// -----

// expected-error @below {{expected a body of one block that returns the loss, a scalar tensor}}
func.func @forward(%w: tensor<4xf32> {smet.role = "param"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

func.func @forward(%w: tensor<4x8xf32> {smet.role = "param"}, %head: tensor<5x4xf32>, %targets: tensor<2xi32>, %n: tensor<i32>) -> tensor<f32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<2x4xf32>
  // expected-error @below {{the loss depends on a result of 'nn.attention' other than the first; these are kept for its gradient only}}
  %o:2 = nn.attention ins(%w, %w, %w : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%e0, %e1 : tensor<4x8xf32>, tensor<2x4xf32>)
    {num_heads = 2 : i64, num_kv_heads = 2 : i64, seq_len = 4 : i64} -> tensor<4x8xf32>, tensor<2x4xf32>
  %e2 = tensor.empty() : tensor<f32>
  %e3 = tensor.empty() : tensor<2xf32>
  %loss:2 = nn.linear_cross_entropy ins(%o#1, %head, %targets, %n : tensor<2x4xf32>, tensor<5x4xf32>, tensor<2xi32>, tensor<i32>)
    outs(%e2, %e3 : tensor<f32>, tensor<2xf32>) -> tensor<f32>, tensor<2xf32>
  return %loss#0 : tensor<f32>
}

// -----

// What a region uses from outside counts as an input of its op.
func.func @forward(%w: tensor<f32> {smet.role = "param"}, %c: i1, %x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'scf.if' stands between a parameter and the loss and has no gradient}}
  %y = scf.if %c -> tensor<f32> {
    scf.yield %w : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %y : tensor<f32>
}

// -----

// expected-error @below {{parameter #0 must be a tensor of floats of static shape, got 'index'}}
func.func @forward(%w: index {smet.role = "param"}, %x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{parameter #0 must be a tensor of floats of static shape, got 'tensor<?xf32>'}}
func.func @forward(%w: tensor<?xf32> {smet.role = "param"}, %x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

func.func @forward(%x: tensor<?x4xf32>, %w: tensor<5x4xf32> {smet.role = "param"}, %t: tensor<?xi32>, %n: tensor<i32>,
                   %lse: tensor<?xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  // expected-error @below {{gradients need static shapes, got 'tensor<?x4xf32>'}}
  %loss:2 = nn.linear_cross_entropy ins(%x, %w, %t, %n : tensor<?x4xf32>, tensor<5x4xf32>, tensor<?xi32>, tensor<i32>)
    outs(%e, %lse : tensor<f32>, tensor<?xf32>) -> tensor<f32>, tensor<?xf32>
  return %loss#0 : tensor<f32>
}

// -----

// A gradient through memory would be lost.
func.func @forward(%w: tensor<f32> {smet.role = "param"}) -> tensor<f32> {
  // expected-error @below {{'bufferization.to_buffer' works on 'memref<f32>'; differentiate before bufferization, on tensors}}
  %m = bufferization.to_buffer %w : tensor<f32> to memref<f32>
  %y = bufferization.to_tensor %m restrict : memref<f32> to tensor<f32>
  return %y : tensor<f32>
}

// -----

// expected-error @below {{there is @forward_grad already; differentiate a module once}}
func.func @forward(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @forward_grad(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{expected a body of one block that returns the loss, a scalar tensor}}
func.func private @forward(tensor<f32> {smet.role = "param"}) -> tensor<f32>
