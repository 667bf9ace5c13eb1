// RUN: smet-opt %s --smet-convert-kernels-to-cpu --canonicalize --cse --split-input-file | FileCheck %s
// RUN: smet-opt %s --smet-convert-kernels-to-cpu="vector-bits=256 num-registers=16" --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=YMM

// A work item is a group of eight tiles times a panel of the weight's rows, of which a chunk is copied for all tiles.
// Six rows of y times 64 tokens stay in registers over a chunk of the sum: nothing is stored in it.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[ITEMS:.*]] = arith.constant 35 : index
// CHECK:         scf.parallel {{.*}} to (%[[ITEMS]])
// CHECK:           %[[COPY:.*]] = memref.alloca() {{.*}} : memref<240x128xf32>
// CHECK:           scf.for {{.*}} step %c128
// CHECK:             vector.store {{.*}}, %[[COPY]]
// CHECK:             scf.for
// CHECK:               scf.for {{.*}} step %c6
// CHECK:                 %[[SUMS:.*]]:6 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK-NOT:               store
// CHECK-COUNT-6:           math.fma {{.*}} : vector<64xf32>
// CHECK-NOT:               store
// CHECK:                   scf.yield
// CHECK:                 %[[TOTAL:.*]]:6 = scf.if
// CHECK-COUNT-6:           arith.addf %[[SUMS]]
// CHECK-COUNT-6:         vector.store %[[TOTAL]]
// CHECK-NOT:     memref.alloc()

// With 16 registers, six rows times two registers.
// YMM:           %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
func.func @main(%x: memref<33x300x64xf32>, %w: memref<1600x300xf32>, %y: memref<33x1600x64xf32>) {
  nn.linear ins(%x, %w : memref<33x300x64xf32>, memref<1600x300xf32>) outs(%y : memref<33x1600x64xf32>)
  return
}

// -----

// One tile: the threads share the rows of the weight.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[PANELS:.*]] = arith.constant 59 : index
// CHECK:         scf.parallel {{.*}} to (%[[PANELS]])
// CHECK:           %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
// CHECK:         %{{.*}}:4 = scf.for {{.*}} iter_args({{.*}}vector<16xf32>
func.func @main(%x: memref<1x32x16xf32>, %w: memref<700x32xf32>, %y: memref<1x700x16xf32>) {
  nn.linear ins(%x, %w : memref<1x32x16xf32>, memref<700x32xf32>) outs(%y : memref<1x700x16xf32>)
  return
}

// -----

// dw: x is transposed once, in squares of a register's lanes; then sums over two tiles at a time.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[X:.*]] = memref.alloc() : memref<2x192x64xf32>
// CHECK:         scf.parallel
// CHECK-COUNT-64:  vector.shuffle
// CHECK-COUNT-16:  vector.store {{.*}}, %[[X]]
// CHECK:         scf.parallel
// CHECK:           %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK:             %{{.*}}:6 = scf.for {{.*}} iter_args({{.*}}vector<64xf32>
// CHECK-NOT:           store
// CHECK-COUNT-6:       math.fma {{.*}} : vector<64xf32>
func.func @main(%x: memref<3x70x64xf32>, %dy: memref<3x96x64xf32>, %dw: memref<96x70xf32>) {
  nn.linear_grad_weight ins(%x, %dy : memref<3x70x64xf32>, memref<3x96x64xf32>) outs(%dw : memref<96x70xf32>)
  return
}
