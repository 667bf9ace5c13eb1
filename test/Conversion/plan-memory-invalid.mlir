// RUN: smet-opt %s -smet-plan-memory -split-input-file -verify-diagnostics

// expected-error @below {{expected an entry point of one block without results; smet-verify-contract drops those that are arguments}}
func.func @result(%x: memref<4xf32> {smet.name = "x", smet.role = "input"}) -> memref<4xf32> {
  return %x : memref<4xf32>
}

// -----

// expected-error @below {{expected an entry point of one block without results}}
func.func private @declared(memref<4xf32>)

// -----

// expected-error @below {{argument #1 needs smet.name, smet.role and a contiguous memref of static size of a type that the manifest knows, got 'memref<4xf32>'}}
func.func @nameless(%x: memref<4xf32> {smet.name = "x", smet.role = "input"}, %y: memref<4xf32> {smet.name = "y"}) {
  return
}

// -----

// expected-error @below {{a type that the manifest knows, got 'tensor<4xf32>'}}
func.func @tensor(%x: tensor<4xf32> {smet.name = "x", smet.role = "input"}) {
  return
}

// -----

// expected-error @below {{a type that the manifest knows, got 'memref<?xf32>'}}
func.func @dynamic(%x: memref<?xf32> {smet.name = "x", smet.role = "input"}) {
  return
}

// -----

// expected-error @below {{a type that the manifest knows, got 'memref<4xindex>'}}
func.func @index(%x: memref<4xindex> {smet.name = "x", smet.role = "input"}) {
  return
}

// -----

// expected-error @below {{a type that the manifest knows, got 'memref<4611686018427387904x4xf32>'}}
func.func @huge(%x: memref<4611686018427387904x4xf32> {smet.name = "x", smet.role = "input"}) {
  return
}

// -----

func.func @dynamic_buffer(%x: memref<4xf32> {smet.name = "x", smet.role = "input"}) {
  %n = arith.constant 4 : index
  // expected-error @below {{a buffer must be a contiguous array of numbers of static size, allocated at the top of its entry point, got 'memref<?xf32>'}}
  %0 = memref.alloc(%n) : memref<?xf32>
  return
}

// -----

// expected-error @below {{a type that the manifest knows, got 'memref<i1>'}}
func.func @no_dtype(%x: memref<i1> {smet.name = "x", smet.role = "input"}) {
  return
}

// -----

func.func @nested_buffer(%x: memref<i8> {smet.name = "x", smet.role = "input"}) {
  %byte = memref.load %x[] : memref<i8>
  %c = arith.trunci %byte : i8 to i1
  scf.if %c {
    // expected-error @below {{a buffer must be a contiguous array of numbers of static size, allocated at the top of its entry point, got 'memref<4xf32>'}}
    %0 = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

// Which buffer lives until when would not be known.
func.func @choice(%x: memref<i8> {smet.name = "x", smet.role = "input"}) {
  %byte = memref.load %x[] : memref<i8>
  %c = arith.trunci %byte : i8 to i1
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  // expected-error @below {{'arith.select' passes a buffer on; only views may}}
  %0 = arith.select %c, %a, %b : memref<4xf32>
  nn.fill outs(%0 : memref<4xf32>) {value = 1.0 : f64}
  return
}

// -----

// expected-error @below {{smet.layers is not JSON}}
module attributes {smet.layers = "{"} {
}
