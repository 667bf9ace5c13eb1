// RUN: smet-opt %s -smet-plan-memory -split-input-file -verify-diagnostics | FileCheck %s

// Two entry points share the place of an argument. %a and %c never live together and share theirs.
// CHECK:       module attributes {smet.manifest = {{.*}}arena_bytes\22:1024,\22calls\22:{\22f\22:[],\22g\22:[]}{{.*}}entry_points\22:[\22f\22,\22g\22]
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

// -----

// An allocation that an optimizer step reads is the parameter's gradient. Calls are listed in order, with the work that
// they say; a routine moves its operands. What the other attributes say, and the target,
// goes into the manifest. Nothing is freed.
// CHECK:       module attributes
// CHECK-SAME:    \22calls\22:{\22step\22:[{\22bytes\22:96,\22cache_bytes\22:96,\22callee\22:\22k_smet_dense_adam_step_1\22,\22flops\22:112,\22op\22:\22smet.dense_adam_step\22},{\22bytes\22:32,\22cache_bytes\22:32,\22callee\22:\22fill\22,\22flops\22:0,\22op\22:\22fill\22},{\22bytes\22:0,\22cache_bytes\22:0,\22callee\22:\22k_other\22,\22flops\22:0,\22op\22:\22k_other\22}]}
// CHECK-SAME:    \22config\22:{\22kind\22:\22train\22,\22target\22:\22cpu\22}
// CHECK-SAME:    \22kind\22:\22train\22
// CHECK-SAME:    \22layers\22:[1]
// CHECK-SAME:    \22target\22:\22cpu\22
// CHECK-SAME:    {\22bytes\22:32,\22dtype\22:\22f32\22,\22name\22:\22w\22,\22offset\22:0,\22role\22:\22param\22,\22shape\22:[2,4]}
// CHECK-SAME:    {\22bytes\22:32,\22dtype\22:\22f32\22,\22name\22:\22w.grad\22,\22offset\22:64,\22role\22:\22workspace\22,\22shape\22:[2,4]}
// CHECK-SAME:    {\22bytes\22:64,\22dtype\22:\22i8\22,\22name\22:\22workspace\22,\22offset\22:64,\22role\22:\22workspace\22,\22shape\22:[64]}
// CHECK-LABEL: func.func @step(%arg0: memref<128xi8>)
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.dealloc
module attributes {smet.layers = "[1]", smet.config = "{\22kind\22: \22train\22, \22target\22: \22cpu\22}"} {
func.func @step(%w: memref<2x4xf32> {smet.name = "w", smet.role = "param"}) {
  %g = memref.alloc() : memref<2x4xf32>
  %unused = memref.alloc() : memref<1024xf32>
  smet.dispatch @k_smet_dense_adam_step_1::@main ins(%g : memref<2x4xf32>) outs(%w : memref<2x4xf32>)
    {work = #smet.work<op = "smet.dense_adam_step", flops = 112, bytes = 96>}
  smet.routine "fill" ins() outs(%w : memref<2x4xf32>) words [0, 0]
  smet.dispatch @k_other::@main ins() outs()
  memref.dealloc %g : memref<2x4xf32>
  return
}
module @k_smet_dense_adam_step_1 {
  func.func @main(%g: memref<2x4xf32>, %w: memref<2x4xf32>) {
    return
  }
}
module @k_other {
  func.func @main() {
    return
  }
}
}

// -----

// A buffer lives as long as the views on it: %a and %b may not share a place, %c may take that of %a.
// CHECK-LABEL: func.func @views
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[A:.*]] = memref.view %arg0[%[[ZERO]]][] : memref<192xi8> to memref<4x4xf32>
// CHECK-DAG:     %[[B:.*]] = memref.view %arg0[%{{.*}}][] : memref<192xi8> to memref<16xf32>
// CHECK:         memref.collapse_shape
// CHECK:         nn.fill
func.func @views(%x: memref<16xf32> {smet.name = "x", smet.role = "input"}) {
  %a = memref.alloc() : memref<4x4xf32>
  %v = memref.collapse_shape %a [[0, 1]] : memref<4x4xf32> into memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  nn.fill outs(%b : memref<16xf32>) {value = 1.0 : f64}
  nn.add ins(%v, %b : memref<16xf32>, memref<16xf32>) outs(%x : memref<16xf32>)
  %c = memref.alloc() : memref<16xf32>
  nn.fill outs(%c : memref<16xf32>) {value = 1.0 : f64}
  return
}

// -----

// An empty program has an arena too.
// CHECK:       module attributes {smet.manifest = {{.*}}\22arena_bytes\22:64
