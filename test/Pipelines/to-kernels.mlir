// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-kernels | FileCheck %s --implicit-check-not='tensor<' --implicit-check-not='memref.copy' --implicit-check-not='bufferization'
// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-kernels | FileCheck %s --check-prefix=HOST

// Everything is on memrefs, nothing is copied, and no function has a result: state is updated in place.

// CHECK-LABEL: func.func @train_step(%arg0: memref<48x32xf32> {{.*}}smet.name = "w.topology.t_perm", smet.role = "topology"}
// CHECK-NOT:     ->
// CHECK:         memref.alloc() {{.*}} : memref<128x32xf32>
// CHECK:         smet.dispatch @[[FORWARD:k_smet_spmm_[0-9a-f]+]]::@main
// CHECK:         smet.check_finite
// CHECK:         smet.dispatch @[[BACKWARD:k_smet_spmm_[0-9a-f]+]]::@main
// CHECK:         smet.dispatch @k_smet_sddmm_adam_{{.*}} outs(%arg2, %arg5, %arg8, %arg9 :
// CHECK:         return{{$}}
// The evaluation's forward is the training step's kernel.
// CHECK-LABEL: func.func @eval_step(
// CHECK:         smet.dispatch @[[FORWARD]]::@main
// CHECK-LABEL: func.func @update_topology(
// CHECK:         smet.routine "prune"
// CHECK:         smet.routine "grow_random"
// CHECK:         smet.routine "update_topology" {{.*}} outs(%arg4, %arg5, %arg6, %arg7, %arg8,
// CHECK:         smet.routine "remap" {{.*}} outs(%arg0 :
// CHECK:       module @[[FORWARD]] attributes {sym_visibility = "private"}
// CHECK-NEXT:    func.func @main({{.*}}memref<?x16x16xf32>
// CHECK-NEXT:      smet.topology.pack {{.*}}nnz = ?>
// CHECK-NEXT:      smet.spmm
// CHECK-NEXT:      return{{$}}
// CHECK:       module @[[BACKWARD]]
// CHECK:           smet.spmm {{.*}} {transpose}

// Before the first kernel there are calls only.
// HOST-NOT:    {{(nn|smet)[.](embedding|rms_norm|spmm|add|linear|sddmm|dense_adam|score|fill|prune|grow|remap|init_normal)}}{{ }}
// HOST:        module @k_
