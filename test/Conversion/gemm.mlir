// RUN: smet-opt %s -pass-pipeline='builtin.module(smet-lower-kernel,canonicalize,expand-strided-metadata,convert-to-llvm,reconcile-unrealized-casts,canonicalize)' | FileCheck %s

// C (2 x 4) = 2 Aᵀ B + C / 2 with A 3 x 2: the arguments of context->sgemm (runtime/program/Abi.h) are transa, transb, m,
// n, k, alpha, a, lda, b, ldb, beta, c, ldc.
// CHECK-DAG:   %[[I0:.*]] = llvm.mlir.constant(0 : i64) : i64
// CHECK-DAG:   %[[I1:.*]] = llvm.mlir.constant(1 : i64) : i64
// CHECK-DAG:   %[[TWO:.*]] = llvm.mlir.constant(2 : index) : i64
// CHECK-DAG:   %[[THREE:.*]] = llvm.mlir.constant(3 : index) : i64
// CHECK-DAG:   %[[FOUR:.*]] = llvm.mlir.constant(4 : index) : i64
// CHECK-DAG:   %[[ALPHA:.*]] = llvm.mlir.constant(2.000000e+00 : f32)
// CHECK-DAG:   %[[BETA:.*]] = llvm.mlir.constant(5.000000e-01 : f32)
// CHECK:       %[[SLOT:.*]] = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:       %[[SGEMM:.*]] = llvm.load %[[SLOT]]
// CHECK:       llvm.call %[[SGEMM]](%[[I1]], %[[I0]], %[[TWO]], %[[FOUR]], %[[THREE]], %[[ALPHA]], %{{.*}}, %[[TWO]], %{{.*}}, %[[FOUR]], %[[BETA]], %{{.*}}, %[[FOUR]])
// The same of a 2 x 3 matrix as it is.
// CHECK:       llvm.call %{{.*}}(%[[I0]], %[[I0]], %[[TWO]], %[[FOUR]], %[[THREE]], %[[ALPHA]], %{{.*}}, %[[THREE]], %{{.*}}, %[[FOUR]], %[[BETA]], %{{.*}}, %[[FOUR]])
module @gemm {
func.func @main(%a: memref<3x2xf32>, %b: memref<3x4xf32>, %c: memref<2x4xf32>, %d: memref<2x3xf32>) {
  smet.gemm %a, %b into %c {alpha = 2.0 : f32, beta = 0.5 : f32, transpose_a} : memref<3x2xf32>, memref<3x4xf32>, memref<2x4xf32>
  smet.gemm %d, %b into %c {alpha = 2.0 : f32, beta = 0.5 : f32} : memref<2x3xf32>, memref<3x4xf32>, memref<2x4xf32>
  return
}
}
