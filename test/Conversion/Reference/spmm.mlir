// RUN: smet-opt %s -smet-convert-kernels-to-reference | FileCheck %s
// RUN: smet-opt %s -smet-convert-kernels-to-reference -sparsification-and-bufferization -canonicalize -cse -convert-linalg-to-loops | FileCheck %s --check-prefix=LOOPS

// SpMM is linalg on the 4-d form (the 2-d form fails for block sides of 1), zero-copy. The transposed product scatters
// from the same storage: dims are (row block, column block, row, column, token).
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[COLS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d4, d1, d3)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d4, d0, d2)>
// CHECK-DAG: #[[CSR:.*]] = #sparse_tensor.encoding<{ map = (d0, d1, d2, d3) -> (d0 : dense, d1 : compressed, d2 : dense, d3 : dense), posWidth = 32, crdWidth = 16 }>

!t = !smet.topology<36x60, block = [4, 2], nnz = ?>

// Nothing is allocated or copied, and nothing of sparse_tensor, linalg or bufferization is left.
// LOOPS-NOT: {{sparse_tensor|linalg.[a-z]+ |bufferization|memref.alloc|memref.copy|tensor<}}

// CHECK-LABEL: func.func @forward
// CHECK-SAME:    (%[[P:[^:]*]]: memref<10xi32>, %[[C:[^:]*]]: memref<?xi16>, {{.*}}, %[[Y:[^:]*]]: memref<5x36xf32>)
// CHECK:         %[[Y3:.*]] = memref.expand_shape %[[Y]] {{.*}} into memref<5x9x4xf32>
// CHECK:         linalg.fill {{.*}} outs(%[[Y3]]
// CHECK-DAG:     %[[PT:.*]] = bufferization.to_tensor %[[P]] restrict
// CHECK-DAG:     %[[CT:.*]] = bufferization.to_tensor %[[C]] restrict
// CHECK:         %[[A:.*]] = sparse_tensor.assemble (%[[PT]], %[[CT]]), %{{.*}} to tensor<9x30x4x2xf32, #[[CSR]]>
// CHECK:         linalg.generic {indexing_maps = [#[[W]], #[[COLS]], #[[ROWS]]], iterator_types = ["parallel", "reduction", "parallel", "reduction", "parallel"]} ins(%[[A]],
// CHECK:         bufferization.materialize_in_destination %{{.*}} in restrict writable %[[Y3]]
func.func @forward(%p: memref<10xi32>, %c: memref<?xi16>, %tp: memref<31xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                   %w: memref<?x4x2xf32>, %x: memref<5x60xf32>, %y: memref<5x36xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : memref<10xi32>, memref<?xi16>, memref<31xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x4x2xf32>, memref<5x60xf32>) outs(%y : memref<5x36xf32>)
  return
}

// CHECK-LABEL: func.func @grad_input
// CHECK-NOT:     linalg.fill
// CHECK:         linalg.generic {indexing_maps = [#[[W]], #[[ROWS]], #[[COLS]]], iterator_types = ["reduction", "parallel", "reduction", "parallel", "parallel"]}
func.func @grad_input(%p: memref<10xi32>, %c: memref<?xi16>, %tp: memref<31xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                      %w: memref<?x4x2xf32>, %dy: memref<5x36xf32>, %dx: memref<5x60xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : memref<10xi32>, memref<?xi16>, memref<31xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %dy : !t, memref<?x4x2xf32>, memref<5x36xf32>) outs(%dx : memref<5x60xf32>) {accumulate, transpose}
  return
}
