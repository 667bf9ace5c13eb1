// RUN: smet-opt %s -smet-lower-kernel -split-input-file -verify-diagnostics

// expected-error @below {{expected a named module with a function @main of one block on memrefs without results}}
module @no_main {
}

// -----

// expected-error @below {{expected a named module with a function @main}}
module {
  func.func @main() {
    return
  }
}

// -----

// expected-error @below {{expected a named module with a function @main}}
module @declared {
  func.func private @main(memref<4xf32>)
}

// -----

// expected-error @below {{expected a named module with a function @main}}
module @result {
  func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
    return %x : memref<4xf32>
  }
}

// -----

module @argument {
  // expected-error @below {{arguments must be i64 or contiguous memrefs with static inner sizes, got 'memref<?x?xf32>'}}
  func.func @main(%x: memref<?x?xf32>) {
    return
  }
}

// -----

module @argument {
  // expected-error @below {{arguments must be i64 or contiguous memrefs with static inner sizes, got 'tensor<4xf32>'}}
  func.func @main(%x: tensor<4xf32>) {
    return
  }
}

// -----

module @argument {
  // expected-error @below {{arguments must be i64 or contiguous memrefs with static inner sizes, got 'memref<4xf32, "far">'}}
  func.func @main(%x: memref<4xf32, "far">) {
    return
  }
}

// -----

module @nested {
  func.func @main(%x: memref<4xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
      // expected-error @below {{parallel loops must have one dimension, no reduction and not be nested}}
      scf.parallel (%j) = (%c0) to (%c1) step (%c1) {
      }
    }
    return
  }
}

// -----

module @two_dimensions {
  func.func @main(%x: memref<4xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{parallel loops must have one dimension, no reduction and not be nested}}
    scf.parallel (%i, %j) = (%c0, %c0) to (%c1, %c1) step (%c1, %c1) {
    }
    return
  }
}

// -----

module @tensor_in_loop {
  func.func @main(%x: memref<4xf32>) {
    %t = tensor.empty() : tensor<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{a parallel loop cannot use a value of type 'tensor<4xf32>'}}
    scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
      %v = tensor.extract %t[%i] : tensor<4xf32>
      memref.store %v, %x[%i] : memref<4xf32>
    }
    return
  }
}

// -----

module @gemm_elsewhere {
  func.func @main() {
    return
  }
  func.func @helper(%x: memref<4x4xf32>) {
    // expected-error @below {{only @main of a kernel knows the runtime's context}}
    smet.gemm %x, %x into %x {alpha = 1.0 : f32, beta = 0.0 : f32} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
    return
  }
}
