// RUN: smet-opt %s -pass-pipeline='builtin.module(func.func(smet-verify-contract))' -split-input-file -verify-diagnostics | FileCheck %s

// The results that are arguments go; a view of an argument is the argument.
// CHECK-LABEL: func.func @good(
// CHECK-SAME:    %[[W:.*]]: memref<4xf32> {{[^)]*}}, %{{.*}}: memref<4x2xf32>{{[^)]*}}) {
// CHECK:         nn.fill outs(%[[W]] :
// CHECK:         return{{$}}
func.func @good(%w: memref<4xf32> {smet.name = "w", bufferization.writable = true}, %v: memref<4x2xf32> {smet.name = "v", bufferization.writable = true})
    -> (memref<4xf32> {smet.name = "w"}, memref<8xf32> {smet.name = "v"}) {
  nn.fill outs(%w : memref<4xf32>) {value = 1.0 : f64}
  %0 = memref.collapse_shape %v [[0, 1]] : memref<4x2xf32> into memref<8xf32>
  return %w, %0 : memref<4xf32>, memref<8xf32>
}

// CHECK: func.func private @declared(memref<4xf32>) -> memref<4xf32>
func.func private @declared(memref<4xf32>) -> memref<4xf32>

// -----

// expected-error @below {{result #0 'w' is a new buffer, not an argument updated in place}}
func.func @new_buffer(%w: memref<4xf32> {smet.name = "w"}) -> (memref<4xf32> {smet.name = "w"}) {
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

// expected-error @below {{result #0 'w' is the buffer of argument 'm'}}
// expected-error @below {{result #1 'm' is the buffer of argument 'w'}}
func.func @swapped(%w: memref<4xf32> {smet.name = "w"}, %m: memref<4xf32> {smet.name = "m"})
    -> (memref<4xf32> {smet.name = "w"}, memref<4xf32> {smet.name = "m"}) {
  return %m, %w : memref<4xf32>, memref<4xf32>
}

// -----

// expected-error @below {{argument 'w' is writable but not returned; its update would be dead code}}
func.func @lost(%w: memref<4xf32> {smet.name = "w", bufferization.writable = true}) {
  return
}

// -----

func.func @copied(%w: memref<4xf32> {smet.name = "w"}) -> (memref<4xf32> {smet.name = "w"}) {
  %0 = memref.alloc() : memref<4xf32>
  // expected-error @below {{argument 'w' is copied}}
  memref.copy %w, %0 : memref<4xf32> to memref<4xf32>
  return %w : memref<4xf32>
}

// -----

// A view of an argument is copied just as well, and in a region too.
func.func @copied_view(%w: memref<4x2xf32> {smet.name = "w"}, %c: i1) {
  %0 = memref.alloc() : memref<8xf32>
  %1 = memref.collapse_shape %w [[0, 1]] : memref<4x2xf32> into memref<8xf32>
  scf.if %c {
    // expected-error @below {{argument 'w' is copied; state is updated in place, behind every read of its old value}}
    memref.copy %0, %1 : memref<8xf32> to memref<8xf32>
  }
  return
}

// -----

// expected-error @below {{the contract is about memrefs; bufferize first}}
func.func @tensors(%w: tensor<4xf32> {smet.name = "w"}) -> (tensor<4xf32> {smet.name = "w"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{expected a body of one block}}
func.func @blocks(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  return
^b:
  return
}
