// RUN: smet-opt %s --smet-lower-linear | FileCheck %s
// RUN: smet-opt %s --smet-lower-linear="widen-values=false" | FileCheck %s --check-prefix=STORED --implicit-check-not=smet.widen

!t = !smet.topology<48x32, block = [16, 16], nnz = 4>

// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[T:.*]]: !smet.topology<48x32, block = [16, 16], nnz = 4>, %[[W:.*]]: tensor<4x16x16xf32>, %[[X:.*]]: tensor<64x32xf32>, %[[E:.*]]: tensor<64x48xf32>)
// CHECK-NOT:     smet.linear
// CHECK:         %[[Y:.*]] = smet.spmm ins(%[[T]], %[[W]], %[[X]] : {{.*}}) outs(%[[E]] : tensor<64x48xf32>) {smet.remat = 1 : i64} -> tensor<64x48xf32>
// CHECK:         return %[[Y]]
func.func @f(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x32xf32>, %e: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %y = smet.linear ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x32xf32>) outs(%e : tensor<64x48xf32>) {smet.remat = 1 : i64} -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}

// Values stored in bf16 are converted before each product.

// CHECK-LABEL: func.func @bf16(
// CHECK-SAME:    %[[T:.*]]: !smet.topology<48x32, block = [16, 16], nnz = 4>, %[[W:.*]]: tensor<4x16x16xbf16>, %[[X:.*]]: tensor<64x32xbf16>, %[[E:.*]]: tensor<64x48xbf16>
// CHECK:         %[[WIDE:.*]] = smet.widen ins(%[[W]] : tensor<4x16x16xbf16>) outs(%{{.*}} : tensor<4x16x16xf32>)
// CHECK:         %[[Y:.*]] = smet.spmm ins(%[[T]], %[[WIDE]], %[[X]] : {{.*}}) outs(%[[E]] : tensor<64x48xbf16>)
// CHECK:         %[[AGAIN:.*]] = smet.widen ins(%[[W]] : tensor<4x16x16xbf16>)
// CHECK:         smet.spmm ins(%[[T]], %[[AGAIN]], %[[Y]] : {{.*}}) {{.*}} {transpose}
// STORED-LABEL:  func.func @bf16(
// STORED:        smet.spmm {{.*}} tensor<4x16x16xbf16>, tensor<64x32xbf16>)
// STORED:        smet.spmm {{.*}} tensor<4x16x16xbf16>, tensor<64x48xbf16>) {{.*}} {transpose}
func.func @bf16(%t: !t, %w: tensor<4x16x16xbf16>, %x: tensor<64x32xbf16>, %e: tensor<64x48xbf16>, %d: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %y = smet.linear ins(%t, %w, %x : !t, tensor<4x16x16xbf16>, tensor<64x32xbf16>) outs(%e : tensor<64x48xbf16>) -> tensor<64x48xbf16>
  %dx = smet.spmm ins(%t, %w, %y : !t, tensor<4x16x16xbf16>, tensor<64x48xbf16>) outs(%d : tensor<64x32xbf16>) {transpose} -> tensor<64x32xbf16>
  return %dx : tensor<64x32xbf16>
}
