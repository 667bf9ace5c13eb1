// RUN: smet-opt %s -smet-lower-kernel -split-input-file | FileCheck %s

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

// -----

// Iteration i of [begin, end) is lower bound + i * step; there are as many as fit. Stack scratch is taken once a call, not
// once an iteration; a constant is repeated, what else comes from outside is in the environment.
module @strided {
// CHECK:       llvm.func internal @strided.body0(%[[ENV:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK:         %[[SCRATCH:.*]] = memref.alloca() : memref<8xf32>
// CHECK:         %[[P1:.*]] = llvm.getelementptr %[[ENV]][0, 1]
// CHECK:         %[[LOADED1:.*]] = llvm.load %[[P1]]
// CHECK:         %[[LOWER:.*]] = builtin.unrealized_conversion_cast %[[LOADED1]] : i64 to index
// CHECK:         %[[P2:.*]] = llvm.getelementptr %[[ENV]][0, 2]
// CHECK:         %[[LOADED2:.*]] = llvm.load %[[P2]]
// CHECK:         %[[STEP:.*]] = builtin.unrealized_conversion_cast %[[LOADED2]] : i64 to index
// CHECK-DAG:     %[[FIRST:.*]] = builtin.unrealized_conversion_cast %[[BEGIN]] : i64 to index
// CHECK-DAG:     %[[LAST:.*]] = builtin.unrealized_conversion_cast %[[END]] : i64 to index
// CHECK:         scf.for %[[I:.*]] = %[[FIRST]] to %[[LAST]]
// CHECK-NEXT:      %[[SCALED:.*]] = arith.muli %[[I]], %[[STEP]]
// CHECK-NEXT:      %[[AT:.*]] = arith.addi %[[LOWER]], %[[SCALED]]
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:      memref.store %[[ONE]], %[[SCRATCH]][%[[AT]]]
// CHECK:       llvm.func @strided.main(
// CHECK-DAG:     %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:         %[[N:.*]] = arith.subi %[[EIGHT]], %[[TWO]]
// CHECK:         arith.ceildivui %[[N]], %[[THREE]]
func.func @main() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c2) to (%c8) step (%c3) {
    %scratch = memref.alloca() : memref<8xf32>
    memref.store %one, %scratch[%i] : memref<8xf32>
  }
  return
}
}

// -----

// The table has an offset for each argument, and behind it the leading size where that is dynamic.
module @table {
// CHECK:       llvm.func @table.main(%{{.*}}: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[TABLE:.*]]: !llvm.ptr)
// CHECK:         %[[W0:.*]] = llvm.getelementptr %[[TABLE]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         %[[X:.*]] = llvm.load %[[W0]] : !llvm.ptr -> i64
// CHECK:         llvm.getelementptr %[[ARENA]][%[[X]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         %[[W1:.*]] = llvm.getelementptr %[[TABLE]][1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         %[[N:.*]] = llvm.load %[[W1]] : !llvm.ptr -> i64
// CHECK:         llvm.insertvalue %[[N]], %{{.*}}[3, 0]
// CHECK-NEXT:    %[[STRIDE:.*]] = llvm.mlir.constant(8 : i64)
// CHECK-NEXT:    llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 0]
// CHECK:         llvm.getelementptr %[[TABLE]][2] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NOT:     %[[TABLE]]
// CHECK:         llvm.return
func.func @main(%x: memref<?x8xf32>, %y: memref<4xf32>) {
  return
}
}

// -----

// An argument that is a number is the word itself.
module @number {
// CHECK:       llvm.func @number.main(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[TABLE:.*]]: !llvm.ptr)
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[TABLE]][0]
// CHECK:         %[[WORD:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> i64
// CHECK:         memref.store %[[WORD]]
func.func @main(%layer: i64, %x: memref<i64>) {
  memref.store %layer, %x[] : memref<i64>
  return
}
}
