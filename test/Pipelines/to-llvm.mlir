// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-cpu --smet-to-llvm | FileCheck %s --implicit-check-not='{{ (func|scf|arith|memref|vector|math|nn|cf|affine)[.][a-z]}}' --implicit-check-not='{{smet[.](dispatch|routine|gemm|check_finite)}}' --implicit-check-not='unrealized' --implicit-check-not='intr.exp' --implicit-check-not='intr.log'
// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-reference --smet-to-llvm | FileCheck %s --implicit-check-not='{{ (func|scf|arith|memref|vector|math|nn|cf|affine)[.][a-z]}}' --implicit-check-not='{{smet[.](dispatch|routine|gemm|check_finite)}}' --implicit-check-not='unrealized'

// LLVM dialect alone, whichever way the kernels came. No math function is called: exp and log are polynomials.

// CHECK-DAG:   llvm.mlir.global internal constant @table_train_step_0(
// CHECK-DAG:   llvm.func @[[SPMM:k_smet_spmm_[0-9a-f]+]].main(!llvm.ptr, !llvm.ptr, !llvm.ptr){{$}}
// CHECK-DAG:   llvm.func @smet_init(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> i32
// CHECK-DAG:   llvm.func @smet_train_step(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> i32
// CHECK-DAG:   llvm.func @smet_eval_step(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> i32
// CHECK-DAG:   llvm.func @smet_update_topology(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> i32
// CHECK:       module @k_
// CHECK:         llvm.func @k_{{.*}}.main(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr)
