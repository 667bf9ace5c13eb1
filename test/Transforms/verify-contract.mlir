// RUN: smet-opt %s -pass-pipeline='builtin.module(func.func(smet-verify-contract))' -split-input-file -verify-diagnostics

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
