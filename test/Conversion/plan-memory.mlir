// RUN: smet-opt %s -smet-plan-memory -split-input-file -verify-diagnostics | FileCheck %s

// Two entry points share the place of an argument. %a and %c never live together and share theirs.
// CHECK:       module attributes {smet.manifest = {{.*}}arena_bytes\22:1024{{.*}}entry_points\22:[\22f\22,\22g\22]
// CHECK-LABEL: func.func @f(%arg0: memref<1024xi8>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[X:.*]] = memref.view %arg0[%[[C0]]][] : memref<1024xi8> to memref<64xf32>
// CHECK-DAG:     %[[C512:.*]] = arith.constant 512 : index
// CHECK-DAG:     %[[C256:.*]] = arith.constant 256 : index
// CHECK:         nn.add {{.*}} outs(%[[A:.*]] : memref<64xf32>)
// CHECK:         nn.add ins(%[[A]], %[[A]] {{.*}} outs(%[[B:.*]] : memref<64xf32>)
// CHECK:         nn.add ins(%[[B]], %[[B]] {{.*}} outs(%[[A2:.*]] : memref<64xf32>)
func.func @f(%x: memref<64xf32> {smet.name = "x", smet.role = "input"}, %y: memref<64xf32> {smet.name = "y", smet.role = "output"}) {
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc() : memref<64xf32>
  %c = memref.alloc() : memref<64xf32>
  nn.add ins(%x, %x : memref<64xf32>, memref<64xf32>) outs(%a : memref<64xf32>)
  nn.add ins(%a, %a : memref<64xf32>, memref<64xf32>) outs(%b : memref<64xf32>)
  nn.add ins(%b, %b : memref<64xf32>, memref<64xf32>) outs(%c : memref<64xf32>)
  nn.add ins(%c, %c : memref<64xf32>, memref<64xf32>) outs(%y : memref<64xf32>)
  return
}
// CHECK-LABEL: func.func @g(%arg0: memref<1024xi8>)
func.func @g(%y: memref<64xf32> {smet.name = "y", smet.role = "output"}) {
  return
}

// -----

func.func @f(%x: memref<64xf32> {smet.name = "x", smet.role = "input"}) {
  return
}
// expected-error @below {{'x' has type 'memref<32xf32>' here and 'memref<64xf32>' in another entry point}}
func.func @g(%x: memref<32xf32> {smet.name = "x", smet.role = "input"}) {
  return
}
