// RUN: smet-opt %s -smet-expand-topology -split-input-file -verify-diagnostics

!t = !smet.topology<4x4, block = [1, 1], nnz = ?>
func.func @dynamic(%t: !t, %s: tensor<?xf32>, %r: tensor<f64>) -> tensor<?xi8> {
  // expected-error @below {{a routine takes arrays of numbers of known size, got '!smet.topology<4x4, block = [1, 1], nnz = ?>'}}
  %0 = smet.prune %t, %s, %r : !t, tensor<?xf32>, tensor<f64> -> tensor<?xi8>
  return %0 : tensor<?xi8>
}

// -----

func.func @no_number(%x: tensor<4xindex>) -> tensor<4xindex> {
  // expected-error @below {{a routine takes arrays of numbers of known size, got 'tensor<4xindex>'}}
  %0 = smet.fill into %x {value = 0.0 : f64} : tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----

func.func @fill(%x: tensor<4xi16>) -> tensor<4xi16> {
  // expected-error @below {{can fill arrays other than f32 with zero only, got 1.000000e+00 for 'tensor<4xi16>'}}
  // expected-error @below {{failed to legalize operation 'smet.fill'}}
  %0 = smet.fill into %x {value = 1.0 : f64} : tensor<4xi16>
  return %0 : tensor<4xi16>
}

// -----

func.func @normal(%seed: tensor<i64>, %x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @below {{can fill f32 and bf16 arrays only, got 'tensor<4xf64>'}}
  // expected-error @below {{failed to legalize operation 'smet.init_normal'}}
  %0 = smet.init_normal %seed into %x {layer = 0, std = 1.0 : f64} : tensor<i64>, tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

!t = !smet.topology<4x4, block = [1, 1], nnz = 3>
func.func @region(%c: i1, %a: !t, %b: !t) -> !t {
  %0 = scf.if %c -> !t {
    // expected-error @below {{'scf.yield' cannot carry a topology}}
    scf.yield %a : !t
  } else {
    scf.yield %b : !t
  }
  return %0 : !t
}

// -----

!t = !smet.topology<4x4, block = [1, 1], nnz = 3>
func.func private @callee(!t) -> !t
func.func @call(%t: !t) -> !t {
  // expected-error @below {{'func.call' cannot carry a topology}}
  %0 = func.call @callee(%t) : (!t) -> !t
  return %0 : !t
}
