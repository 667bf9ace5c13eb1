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

// Keys are computed in every pass: scratch is of the counts alone, here of three pieces.
// CHECK-LABEL: func.func @grow(
// CHECK-COUNT-4: memref.alloc() : memref<{{1x|3x|3x256x|3x2x|2x}}{{i64|i32}}>
// CHECK-NOT:     memref.alloc()
func.func @grow(%p: memref<61xi32>, %c: memref<600xi16>, %keep: memref<600xi8>, %seed: memref<i64>, %update: memref<i64>,
                %layer: i64, %grown: memref<600xi32>) {
  smet.routine "grow_random" ins(%p, %c, %keep, %seed, %update, %layer : memref<61xi32>, memref<600xi16>, memref<600xi8>, memref<i64>, memref<i64>, i64)
      outs(%grown : memref<600xi32>) words [60, 80, 1, 1, 600, 0, 0]
  return
}

// -----

// 70,000 columns are three digits.
// CHECK-LABEL: func.func @update(
// CHECK:         %[[BLOCKS:.*]] = memref.alloc() : memref<900xi32>
// CHECK:         %[[BUFFER:.*]] = memref.alloc() : memref<901xi32>
// CHECK:         memref.store {{.*}}, %arg7[
// CHECK:         memref.store {{.*}}, %arg3[
// CHECK:         memref.store {{.*}}, %arg2[
// CHECK:         memref.store {{.*}}, %arg6[
// CHECK:         memref.store {{.*}}, %[[BUFFER]][
// CHECK:         memref.store {{.*}}, %arg6[
// CHECK:         memref.store {{.*}}, %arg5[
// CHECK:         memref.store {{.*}}, %arg4[
func.func @update(%keep: memref<900xi8>, %grown: memref<900xi32>, %p: memref<4xi32>, %c: memref<900xi32>, %tp: memref<70001xi32>,
                  %tc: memref<900xi16>, %perm: memref<900xi32>, %map: memref<900xi32>) {
  smet.routine "update_topology" ins(%keep, %grown : memref<900xi8>, memref<900xi32>)
      outs(%p, %c, %tp, %tc, %perm, %map : memref<4xi32>, memref<900xi32>, memref<70001xi32>, memref<900xi16>, memref<900xi32>, memref<900xi32>)
      words [3, 70000, 1, 1, 900]
  return
}

// -----

// Through scratch, 16 bytes at a time, as integers.
// CHECK-LABEL: func.func @remap(
// CHECK:         %[[SCRATCH:.*]] = memref.alloc() : memref<1024xi16>
// CHECK:         gpu.launch
// CHECK:           vector.load {{.*}} {alignment = 16 : i64} : memref<1024xbf16>, vector<8xbf16>
// CHECK:           vector.store {{.*}}, %[[SCRATCH]][{{.*}}] {alignment = 16 : i64} : memref<1024xi16>, vector<8xi16>
// CHECK:         gpu.launch
// CHECK:           vector.load %[[SCRATCH]][{{.*}}] {alignment = 16 : i64}
// CHECK:           vector.store {{.*}} {alignment = 16 : i64} : memref<1024xbf16>, vector<8xbf16>
func.func @remap(%map: memref<4xi32>, %w: memref<4x16x16xbf16>) {
  smet.routine "remap" ins(%map : memref<4xi32>) outs(%w : memref<4x16x16xbf16>) words [4, 512]
  return
}

// -----

func.func @init(%x: memref<4xf32>) {
  // expected-error @+1 {{has no GPU kernel for these operand types}}
  smet.routine "fill" ins() outs(%x : memref<4xf32>) words [16, 0]
  return
}
