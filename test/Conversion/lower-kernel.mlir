// RUN: smet-opt %s -smet-lower-kernel | FileCheck %s

// The parallel body becomes a function of (environment, begin, end), called through slot 0 of the context; sgemm is slot 1.
module @k {
// CHECK:       llvm.func internal @k.body0(%[[ENV:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK:         scf.for
// CHECK:           memref.store
// CHECK:           %[[CONTEXT:.*]] = llvm.load %[[ENV]] : !llvm.ptr -> !llvm.ptr
// CHECK:           %[[SLOT:.*]] = llvm.getelementptr %[[CONTEXT]][1]
// CHECK:           %[[SGEMM:.*]] = llvm.load %[[SLOT]]
// CHECK:           llvm.call %[[SGEMM]](
// CHECK:       llvm.func @k.main(%[[C:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[TABLE:.*]]: !llvm.ptr)
// CHECK:         %[[SLOT0:.*]] = llvm.getelementptr %[[C]][0]
// CHECK:         %[[FOR:.*]] = llvm.load %[[SLOT0]]
// CHECK:         llvm.call %[[FOR]](%[[C]], %{{.*}}, %{{.*}}, %{{.*}})
func.func @main(%x: memref<?x8xf32>, %a: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %zero, %x[%i, %c0] : memref<?x8xf32>
    smet.gemm %a, %a into %a {alpha = 1.0 : f32, beta = 0.0 : f32} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    scf.reduce
  }
  return
}
}
