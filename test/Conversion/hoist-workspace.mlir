// RUN: smet-opt %s -smet-hoist-workspace -split-input-file -verify-diagnostics | FileCheck %s
// RUN: smet-opt %s -smet-hoist-workspace -smet-hoist-workspace -split-input-file -verify-diagnostics | FileCheck %s

// Every dispatch gets a buffer of its own, right before it, also in a region; another kernel's dispatch stays.
// CHECK-LABEL: func.func @f(
// CHECK-NEXT:    %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:    %[[B:.*]] = memref.alloc() : memref<f64>
// CHECK-NEXT:    smet.dispatch @k::@main ins(%arg0 : memref<4xf32>) outs(%arg1, %[[A]], %[[B]] : memref<4xf32>, memref<8xf32>, memref<f64>)
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      %[[C:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:      %[[D:.*]] = memref.alloc() : memref<f64>
// CHECK-NEXT:      smet.dispatch @k::@main ins(%arg1 : memref<4xf32>) outs(%arg0, %[[C]], %[[D]] :
// CHECK:         smet.dispatch @other::@main ins(%arg0 : memref<4xf32>) outs(%arg1 : memref<4xf32>)
func.func @f(%x: memref<4xf32>, %y: memref<4xf32>, %c: i1) {
  smet.dispatch @k::@main ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  scf.if %c {
    smet.dispatch @k::@main ins(%y : memref<4xf32>) outs(%x : memref<4xf32>)
  }
  smet.dispatch @other::@main ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
// CHECK:       module @k
// CHECK-NEXT:    func.func @main(%{{.*}}: memref<4xf32>, %[[Y:.*]]: memref<4xf32>, %[[A:.*]]: memref<8xf32>, %[[B:.*]]: memref<f64>) {
// CHECK-NOT:     memref.alloc
// CHECK:         memref.store %{{.*}}, %[[B]][]
// CHECK:         memref.alloca()
// CHECK-NOT:     memref.dealloc
module @k {
  func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
    %a = memref.alloc() : memref<8xf32>
    %b = memref.alloc() : memref<f64>
    %zero = arith.constant 0.0 : f64
    memref.store %zero, %b[] : memref<f64>
    nn.fill outs(%a : memref<8xf32>) {value = 1.0 : f64}
    %stack = memref.alloca() : memref<2xf32>
    nn.fill outs(%stack : memref<2xf32>) {value = 1.0 : f64}
    memref.dealloc %a : memref<8xf32>
    return
  }
}
module @other {
  func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
    return
  }
}
// Neither is a kernel that could be called.
module @declared {
  func.func private @main(memref<4xf32>)
}
module {
  func.func @main() {
    return
  }
}

// -----

module {
module @dynamic {
  func.func @main(%n: index) {
    // expected-error @below {{scratch of a kernel must be contiguous, of static size and allocated at the top of its main, got 'memref<?xf32>'}}
    %a = memref.alloc(%n) : memref<?xf32>
    return
  }
}
}

// -----

module {
module @nested {
  func.func @main(%c: i1) {
    scf.if %c {
      // expected-error @below {{scratch of a kernel must be contiguous, of static size and allocated at the top of its main, got 'memref<4xf32>'}}
      %a = memref.alloc() : memref<4xf32>
    }
    return
  }
}
}

// -----

module {
module @strided {
  func.func @main() {
    // expected-error @below {{scratch of a kernel must be contiguous}}
    %a = memref.alloc() : memref<4xf32, strided<[2]>>
    return
  }
}
}

