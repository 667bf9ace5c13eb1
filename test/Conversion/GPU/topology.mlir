// RUN: smet-opt %s --smet-convert-kernels-to-gpu --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// The digits of all scores are counted in four passes, and none is looked at on the host: it launches what the shape
// says. No atomics.
// CHECK-LABEL: func.func @prune(
// CHECK-NOT:     memref.load
// CHECK:         gpu.launch
// CHECK-NOT:     atomic
// CHECK:         scf.for %{{.*}} = %c0 to %c4 step %c1 {
// CHECK-COUNT-2:   gpu.launch
// CHECK:         {{^    }}}
// CHECK-COUNT-2: {{^    }}gpu.launch
// CHECK:           memref.store {{.*}} : memref<5000xi8>
// CHECK-NOT:     gpu.launch
func.func @prune(%score: memref<5000xf32>, %rate: memref<f64>, %keep: memref<5000xi8>, %nan: memref<i64>) {
  smet.routine "prune" ins(%score, %rate : memref<5000xf32>, memref<f64>) outs(%keep, %nan : memref<5000xi8>, memref<i64>) words [5000, 9000]
  return
}

// -----

func.func @init(%x: memref<4xf32>) {
  // expected-error @+1 {{has no GPU kernel for these operand types}}
  smet.routine "fill" ins() outs(%x : memref<4xf32>) words [16, 0]
  return
}
