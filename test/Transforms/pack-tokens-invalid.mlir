// RUN: smet-opt %s -pass-pipeline='builtin.module(func.func(smet-pack-tokens))' -split-input-file -verify-diagnostics

func.func @unknown_op(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  // expected-error @below {{'arith.addf' stands between packed activations and knows only [T, F]}}
  %0 = arith.addf %x, %x : tensor<64x48xf32>
  %e = tensor.empty() : tensor<64x48xf32>
  %1 = nn.silu_mul ins(%0, %x : tensor<64x48xf32>, tensor<64x48xf32>) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %1 : tensor<64x48xf32>
}

// -----

func.func @unknown_user(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %e = tensor.empty() : tensor<64x48xf32>
  %0 = nn.silu_mul ins(%x, %x : tensor<64x48xf32>, tensor<64x48xf32>) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  // expected-error @below {{'arith.addf' stands between packed activations and knows only [T, F]}}
  %1 = arith.addf %0, %x : tensor<64x48xf32>
  return %1 : tensor<64x48xf32>
}

// -----

func.func @region(%c: i1, %x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  // expected-error @below {{'scf.if' stands between packed activations and knows only [T, F]}}
  %0 = scf.if %c -> tensor<64x48xf32> {
    scf.yield %x : tensor<64x48xf32>
  } else {
    scf.yield %x : tensor<64x48xf32>
  }
  %e = tensor.empty() : tensor<64x48xf32>
  %1 = nn.silu_mul ins(%0, %x : tensor<64x48xf32>, tensor<64x48xf32>) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %1 : tensor<64x48xf32>
}

// -----

// expected-error @below {{activations need a static shape, got 'tensor<?x48xf32>'}}
func.func @dynamic(%x: tensor<?x48xf32>, %y: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %0 = nn.silu_mul ins(%x, %x : tensor<?x48xf32>, tensor<?x48xf32>) outs(%y : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %0 : tensor<?x48xf32>
}
