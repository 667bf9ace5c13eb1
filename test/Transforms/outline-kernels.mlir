// RUN: smet-opt %s -smet-outline-kernels | FileCheck %s

// Layers that differ in nnz only share a kernel, and its types carry no nnz.
!a = !smet.topology<64x64, block = [16, 16], nnz = 4>
!b = !smet.topology<64x64, block = [16, 16], nnz = 7>

// CHECK-LABEL: func.func @two_layers
// CHECK:         smet.dispatch @[[K:k_smet_spmm_[0-9a-f]+]]::@main ins(%arg0
// CHECK:         smet.dispatch @[[K]]::@main ins(%arg1
// CHECK:       module @[[K]] attributes {sym_visibility = "private"}
// CHECK:         func.func @main(%arg0: !smet.topology<64x64, block = [16, 16], nnz = ?>, %arg1: tensor<?x16x16xf32>
// CHECK-NOT:   module @k_
func.func @two_layers(%ta: !a, %tb: !b, %wa: tensor<4x16x16xf32>, %wb: tensor<7x16x16xf32>, %x: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e0 = tensor.empty() : tensor<64x64xf32>
  %0 = smet.spmm ins(%ta, %wa, %x : !a, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%e0 : tensor<64x64xf32>) -> tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<64x64xf32>
  %1 = smet.spmm ins(%tb, %wb, %x : !b, tensor<7x16x16xf32>, tensor<64x64xf32>) outs(%e1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}
