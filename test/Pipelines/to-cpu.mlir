// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-cpu | FileCheck %s --implicit-check-not='tensor<' --implicit-check-not='bufferization' --implicit-check-not='memref.alloc(' --implicit-check-not='memref.copy' --implicit-check-not='{{ nn[.](add|rms_norm|pack|unpack)}}' --implicit-check-not='{{ smet[.](spmm|sddmm_adam|topology.pack)}}'
// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-cpu="tile=32 vector-bits=256 num-registers=16" | FileCheck %s --check-prefix=SMALL --implicit-check-not='vector<64xf32>'

// Entry points on the arena; activations are tiles of 64 tokens; kernels are vector loops, in parallel over tiles.

// CHECK:       module attributes
// CHECK-SAME:    smet.manifest = "{{.*}}\22name\22:\22w.topology.t_perm\22
// CHECK-LABEL: func.func @train_step(%arg0: memref<{{[0-9]+}}xi8>)
// CHECK:         memref.view {{.*}} to memref<2x32x64xf32>
// CHECK:         smet.dispatch @k_nn_embedding_{{.*}} memref<2x32x64xf32>
// The scratch of the norm's gradient is in the arena too.
// CHECK:         smet.dispatch @k_nn_rms_norm_grad_{{.*}} memref<32xf32>, memref<2x32xf32>)
// CHECK:       module @k_smet_spmm_
// CHECK-NEXT:    func.func @main(
// CHECK:           scf.parallel
// CHECK:             math.fma {{.*}} : vector<16xf32>
// SMALL:       memref.view {{.*}} to memref<4x32x32xf32>
// SMALL:       module @k_smet_spmm_
// SMALL:         math.fma {{.*}} : vector<8xf32>
