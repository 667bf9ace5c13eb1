// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-reference | FileCheck %s --implicit-check-not='sparse_tensor' --implicit-check-not='{{[^"]linalg[.][a-z]}}' --implicit-check-not='bufferization' --implicit-check-not='tensor<' --implicit-check-not='memref.alloc' --implicit-check-not='memref.copy' --implicit-check-not='{{ (nn|smet)[.](add|spmm|rms_norm|sddmm_adam)}}'

// Entry points on the arena; kernels are loops on memrefs of [T, F], without sparse_tensor and linalg.

// CHECK:       module attributes
// CHECK-SAME:    smet.manifest =
// CHECK:       func.func @init(%arg0: memref<[[ARENA:[0-9]+]]xi8>)
// CHECK:         smet.routine "init_normal_dense"
// CHECK:       func.func @train_step(%arg0: memref<[[ARENA]]xi8>)
// CHECK:         memref.view %arg0
// CHECK:         smet.dispatch @k_nn_embedding_
// CHECK:       module @k_nn_rms_norm_
// CHECK-NEXT:    func.func @main(%{{.*}}: memref<128x32xf32>, %{{.*}}: memref<32xf32>, %{{.*}}: memref<128x32xf32>)
// CHECK:           scf.for
// CHECK:           math.sqrt
// CHECK:       module @k_smet_spmm_
// CHECK:           scf.for
// CHECK:             arith.mulf
// CHECK-NEXT:        arith.addf
