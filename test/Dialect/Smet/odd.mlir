// Odd but valid: no blocks, all blocks, no tokens, unknown and huge sizes, strided memrefs.
// RUN: smet-opt %s -canonicalize | smet-opt -canonicalize | FileCheck %s

!none = !smet.topology<32x64, block = [16, 16], nnz = 0>
!one = !smet.topology<1x1, block = [1, 1], nnz = 1>
!whole = !smet.topology<7x5, block = [7, 5], nnz = 1>
!unknown = !smet.topology<32x64, block = [1, 1], nnz = ?>
!huge = !smet.topology<2147483648x4294967294, block = [2147483648, 2], nnz = 2147483647>

// CHECK-LABEL: @no_blocks
// CHECK: smet.spmm {{.*}} nnz = 0>, tensor<0x16x16xf32>
// CHECK: smet.score {{.*}} -> tensor<0xf32>
// CHECK: smet.prune {{.*}} -> tensor<0xi8>
func.func @no_blocks(%t: !none, %w: tensor<0x16x16xf32>, %x: tensor<8x64xf32>, %y: tensor<8x32xf32>, %s: tensor<0xf32>, %r: tensor<f64>)
    -> (tensor<8x32xf32>, tensor<0xf32>, tensor<0xi8>) {
  %0 = smet.spmm ins(%t, %w, %x : !none, tensor<0x16x16xf32>, tensor<8x64xf32>) outs(%y : tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = smet.score ins(%w : tensor<0x16x16xf32>) outs(%s : tensor<0xf32>) -> tensor<0xf32>
  %2 = smet.prune %t, %1, %r : !none, tensor<0xf32>, tensor<f64> -> tensor<0xi8>
  return %0, %1, %2 : tensor<8x32xf32>, tensor<0xf32>, tensor<0xi8>
}

// The empty map is the identity, and so is the only map of one slot.
// CHECK-LABEL: @empty_remap
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<0xi16>, %[[B:[a-z0-9]+]]: tensor<1xi16>
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @empty_remap(%a: tensor<0xi16>, %b: tensor<1xi16>) -> (tensor<0xi16>, tensor<1xi16>) {
  %none = arith.constant dense<> : tensor<0xi32>
  %one = arith.constant dense<0> : tensor<1xi32>
  %0 = smet.remap %none, %a : tensor<0xi32>, tensor<0xi16>
  %1 = smet.remap %one, %b : tensor<1xi32>, tensor<1xi16>
  return %0, %1 : tensor<0xi16>, tensor<1xi16>
}

// CHECK-LABEL: @one_block
// CHECK: smet.spmm
// CHECK: smet.sddmm
func.func @one_block(%t: !one, %u: !whole, %w: memref<1x1x1xf64>, %x: memref<0x1xf64>, %v: memref<1x7x5xf64>, %a: memref<3x5xf64, strided<[8, 1], offset: ?>>, %b: memref<3x7xf64>) {
  smet.spmm ins(%t, %w, %x : !one, memref<1x1x1xf64>, memref<0x1xf64>) outs(%x : memref<0x1xf64>) {accumulate}
  smet.sddmm ins(%u, %a, %b : !whole, memref<3x5xf64, strided<[8, 1], offset: ?>>, memref<3x7xf64>) outs(%v : memref<1x7x5xf64>)
  return
}

// CHECK-LABEL: @unknown
// CHECK: smet.linear
// CHECK: smet.topology.unpack {{.*}} -> tensor<33xi32>, tensor<?xi16>, tensor<65xi32>, tensor<?xi16>, tensor<?xi32>
func.func @unknown(%t: !unknown, %w: tensor<?x?x?xbf16>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>) -> (tensor<?x?xbf16>, tensor<?xi32>) {
  %0 = smet.linear ins(%t, %w, %x : !unknown, tensor<?x?x?xbf16>, tensor<?x?xbf16>) outs(%y : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %1:5 = smet.topology.unpack %t : !unknown -> tensor<33xi32>, tensor<?xi16>, tensor<65xi32>, tensor<?xi16>, tensor<?xi32>
  return %0, %1#4 : tensor<?x?xbf16>, tensor<?xi32>
}

// CHECK-LABEL: @huge
// CHECK: smet.from_dense
func.func @huge(%t: !huge, %d: memref<2147483648x4294967294xf32>, %w: memref<2147483647x2147483648x2xf32>) {
  smet.from_dense ins(%t, %d : !huge, memref<2147483648x4294967294xf32>) outs(%w : memref<2147483647x2147483648x2xf32>)
  return
}
