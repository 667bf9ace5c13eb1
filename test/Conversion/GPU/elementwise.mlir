// RUN: smet-opt %s --smet-convert-kernels-to-gpu --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// A thread has 16 bytes of each operand: one load, whose alignment makes it a single instruction.
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nn.add
// CHECK:         gpu.launch
// CHECK-COUNT-2:   vector.load {{.*}} {alignment = 16 : i64} : memref<6144xf32>, vector<4xf32>
// CHECK:           arith.addf
// CHECK:           vector.store {{.*}} {alignment = 16 : i64} : memref<6144xf32>, vector<4xf32>
func.func @main(%a: memref<1x48x128xf32>, %b: memref<1x48x128xf32>, %c: memref<1x48x128xf32>) {
  nn.add ins(%a, %b : memref<1x48x128xf32>, memref<1x48x128xf32>) outs(%c : memref<1x48x128xf32>)
  return
}

// -----

// In bf16 that are eight elements, computed on in f32.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2:   vector.load {{.*}} {alignment = 16 : i64} : memref<6144xbf16>, vector<8xbf16>
// CHECK:           arith.addf {{.*}} : vector<8xf32>
// CHECK:           vector.store {{.*}} {alignment = 16 : i64} : memref<6144xbf16>, vector<8xbf16>
func.func @main(%a: memref<1x48x128xbf16>, %b: memref<1x48x128xbf16>, %c: memref<1x48x128xbf16>) {
  nn.add ins(%a, %b : memref<1x48x128xbf16>, memref<1x48x128xbf16>) outs(%c : memref<1x48x128xbf16>)
  return
}

// -----

// Several tiles are the CPU's layout.
func.func @main(%x: memref<2x48x64xf32>, %g: memref<48xf32>, %y: memref<2x48x64xf32>) {
  // expected-error @+1 {{has no GPU kernel for these operand types}}
  nn.rms_norm ins(%x, %g : memref<2x48x64xf32>, memref<48xf32>) outs(%y : memref<2x48x64xf32>) {eps = 1.0e-6 : f64}
  return
}
