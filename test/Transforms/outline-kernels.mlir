// RUN: smet-opt %s -smet-outline-kernels -split-input-file | FileCheck %s
// RUN: smet-opt %s -smet-outline-kernels -smet-outline-kernels -split-input-file | FileCheck %s

// Layers that differ in nnz only share a kernel, and its types carry no nnz. The calls say what they have to do:
// 2 x 4 blocks x 256 x 64 tokens = 131072; (5 + 4 / 2 + 1024 + 2 x 4096) x 4 bytes = 36892. Every block reads 16 features
// of x: 7 x 16 x 64 instead of 64 x 64 elements are 12288 bytes more.
!a = !smet.topology<64x64, block = [16, 16], nnz = 4>
!b = !smet.topology<64x64, block = [16, 16], nnz = 7>

// CHECK-LABEL: func.func @two_layers
// CHECK:         smet.dispatch @[[K:k_smet_spmm_[0-9a-f]+]]::@main ins(%arg0
// CHECK-SAME:      work = #smet.work<op = "smet.spmm", flops = 131072, bytes = 36892, cache_bytes = 36892>
// CHECK:         smet.dispatch @[[K]]::@main ins(%arg1
// CHECK-SAME:      work = #smet.work<op = "smet.spmm", flops = 229376, bytes = 39970, cache_bytes = 52258>
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

// -----

// Rematerialization is the dispatch's business, not the kernel's: both calls share one. A value that is passed twice has
// two arguments.
// CHECK-LABEL: func.func @remat
// CHECK:         smet.dispatch @[[K:k_nn_add_[0-9a-f]+]]::@main ins(%arg0, %arg0 :
// CHECK:         smet.dispatch @[[K]]::@main {{.*}} {smet.remat = 1 : i64, work = 
// CHECK:       module @[[K]]
// CHECK-NEXT:    func.func @main(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      %[[R:.*]] = nn.add ins(%[[A]], %[[B]] : {{.*}}) outs(%[[C]] : tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:      return %[[R]]
// CHECK-NOT:   module @k_
func.func @remat(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e0 = tensor.empty() : tensor<4xf32>
  %0 = nn.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %1 = nn.add ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e1 : tensor<4xf32>) {smet.remat = 1 : i64} -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// How a product is computed is the kernel's business, not the dispatch's: two kernels.
// CHECK-LABEL: func.func @choice
// CHECK:         smet.dispatch @[[MODEL:k_smet_spmm_[0-9a-f]+]]::@main
// CHECK-NOT:     @[[MODEL]]::
// CHECK:         smet.dispatch @[[CHOSEN:k_smet_spmm_[0-9a-f]+]]::@main
// CHECK-NOT:     smet.choice
// CHECK:         return
// CHECK-DAG:   module @[[MODEL]]
// CHECK-DAG:   module @[[CHOSEN]]
// CHECK:         smet.spmm {{.*}} {smet.choice = {kernel = "tiles", rows = 2 : i64}}
!t = !smet.topology<64x64, block = [16, 16], nnz = 4>
func.func @choice(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e0 = tensor.empty() : tensor<64x64xf32>
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%e0 : tensor<64x64xf32>)
    -> tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<64x64xf32>
  %1 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x64xf32>) outs(%e1 : tensor<64x64xf32>)
    {smet.choice = {kernel = "tiles", rows = 2}} -> tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// An attribute of the op is the kernel's: two kernels. In a region and on memrefs ops are outlined as elsewhere.
// CHECK-LABEL: func.func @regions
// CHECK:         scf.if
// CHECK:           smet.dispatch @[[ONE:k_nn_fill_[0-9a-f]+]]::@main ins() outs(%{{.*}} : memref<4xf32>)
// CHECK-NOT:     @[[ONE]]::
// CHECK:         smet.dispatch @[[TWO:k_nn_fill_[0-9a-f]+]]::@main
// CHECK-DAG:   module @[[ONE]]
// CHECK-DAG:   module @[[TWO]]
func.func @regions(%c: i1, %x: memref<4xf32>) {
  scf.if %c {
    nn.fill outs(%x : memref<4xf32>) {value = 1.0 : f64}
  }
  nn.fill outs(%x : memref<4xf32>) {value = 2.0 : f64}
  return
}
