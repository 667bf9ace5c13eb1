// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse | FileCheck %s

// dx tile by tile, with each tile's share of dgamma; dgamma feature by feature, each a sum over all tiles in order, so
// that no two items of work write the same element.

// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nn.
// CHECK:         memref.alloc() : memref<2x48xf32>
// CHECK:         scf.parallel
// CHECK:           scf.for {{.*}} -> (vector<64xf32>, vector<64xf32>)
// CHECK-COUNT-2:     math.fma
// CHECK:           math.sqrt {{.*}} : vector<64xf32>
// CHECK:           scf.for
// CHECK:             vector.reduction <add>
// CHECK:             vector.store
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK:             scf.for {{.*}} -> (f32)
// CHECK-NOT:           store
// CHECK:               scf.yield
func.func @main(%x: memref<2x48x64xf32>, %gamma: memref<48xf32>, %dy: memref<2x48x64xf32>, %dx: memref<2x48x64xf32>,
                %dgamma: memref<48xf32>) {
  nn.rms_norm_grad ins(%x, %gamma, %dy : memref<2x48x64xf32>, memref<48xf32>, memref<2x48x64xf32>)
                   outs(%dx, %dgamma : memref<2x48x64xf32>, memref<48xf32>) {eps = 1.0e-6 : f64}
  return
}
