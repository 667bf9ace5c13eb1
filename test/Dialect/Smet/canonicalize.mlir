// RUN: smet-opt %s -canonicalize -split-input-file | FileCheck %s

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>

// Adding to zeros is overwriting: the filled array is the destination.
// CHECK-LABEL: @spmm_onto_filled
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x32xf32>
// CHECK-NOT: nn.fill
// CHECK: smet.spmm {{.*}} outs(%[[Y]] : tensor<8x32xf32>) -> tensor<8x32xf32>
func.func @spmm_onto_filled(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<8x64xf32>, %y: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %zero = nn.fill outs(%y : tensor<8x32xf32>) {value = 0.0 : f64} -> tensor<8x32xf32>
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<8x64xf32>) outs(%zero : tensor<8x32xf32>) {accumulate} -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// Other attributes stay.
// CHECK-LABEL: @spmm_onto_constant
// CHECK-NOT: arith.constant
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8x64xf32>
// CHECK: smet.spmm {{.*}} outs(%[[E]] : tensor<8x64xf32>) {transpose} -> tensor<8x64xf32>
func.func @spmm_onto_constant(%t: !t, %w: tensor<4x16x16xf32>, %dy: tensor<8x32xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = smet.spmm ins(%t, %w, %dy : !t, tensor<4x16x16xf32>, tensor<8x32xf32>) outs(%zero : tensor<8x64xf32>) {accumulate, transpose} -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: @sddmm_onto_filled
// CHECK-SAME: %[[DW:[a-z0-9]+]]: tensor<4x16x16xf32>
// CHECK-NOT: nn.fill
// CHECK: smet.sddmm {{.*}} outs(%[[DW]] : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
func.func @sddmm_onto_filled(%t: !t, %x: tensor<8x64xf32>, %dy: tensor<8x32xf32>, %dw: tensor<4x16x16xf32>) -> tensor<4x16x16xf32> {
  %zero = nn.fill outs(%dw : tensor<4x16x16xf32>) {value = 0.0 : f64} -> tensor<4x16x16xf32>
  %0 = smet.sddmm ins(%t, %x, %dy : !t, tensor<8x64xf32>, tensor<8x32xf32>) outs(%zero : tensor<4x16x16xf32>) {accumulate} -> tensor<4x16x16xf32>
  return %0 : tensor<4x16x16xf32>
}

// Two outputs must not share one destination, and ones are not zeros.
// CHECK-LABEL: @keep_accumulate
// CHECK-COUNT-3: smet.sddmm {{.*}} {accumulate}
func.func @keep_accumulate(%t: !t, %x: tensor<8x64xf32>, %dy: tensor<8x32xf32>, %a: tensor<4x16x16xf32>, %b: tensor<4x16x16xf32>)
    -> (tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>) {
  %zero = nn.fill outs(%a : tensor<4x16x16xf32>) {value = 0.0 : f64} -> tensor<4x16x16xf32>
  %one = nn.fill outs(%b : tensor<4x16x16xf32>) {value = 1.0 : f64} -> tensor<4x16x16xf32>
  %0 = smet.sddmm ins(%t, %x, %dy : !t, tensor<8x64xf32>, tensor<8x32xf32>) outs(%zero : tensor<4x16x16xf32>) {accumulate} -> tensor<4x16x16xf32>
  %1 = smet.sddmm ins(%t, %x, %dy : !t, tensor<8x64xf32>, tensor<8x32xf32>) outs(%zero : tensor<4x16x16xf32>) {accumulate} -> tensor<4x16x16xf32>
  %2 = smet.sddmm ins(%t, %x, %dy : !t, tensor<8x64xf32>, tensor<8x32xf32>) outs(%one : tensor<4x16x16xf32>) {accumulate} -> tensor<4x16x16xf32>
  return %0, %1, %2 : tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>
}

// On memrefs the fill is a write of its own.
// CHECK-LABEL: @keep_accumulate_on_memrefs
// CHECK: nn.fill
// CHECK: smet.sddmm {{.*}} {accumulate}
func.func @keep_accumulate_on_memrefs(%t: !t, %x: memref<8x64xf32>, %dy: memref<8x32xf32>, %dw: memref<4x16x16xf32>) {
  nn.fill outs(%dw : memref<4x16x16xf32>) {value = 0.0 : f64}
  smet.sddmm ins(%t, %x, %dy : !t, memref<8x64xf32>, memref<8x32xf32>) outs(%dw : memref<4x16x16xf32>) {accumulate}
  return
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>

// CHECK-LABEL: @dense_and_back
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x16x16xf32>
// CHECK-NEXT: return %[[W]]
func.func @dense_and_back(%t: !t, %w: tensor<4x16x16xf32>) -> tensor<4x16x16xf32> {
  %e0 = tensor.empty() : tensor<32x64xf32>
  %e1 = tensor.empty() : tensor<4x16x16xf32>
  %dense = smet.to_dense ins(%t, %w : !t, tensor<4x16x16xf32>) outs(%e0 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %0 = smet.from_dense ins(%t, %dense : !t, tensor<32x64xf32>) outs(%e1 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %0 : tensor<4x16x16xf32>
}

// Another topology takes other values; a bound destination must be written.
// CHECK-LABEL: @keep_from_dense
// CHECK-COUNT-2: smet.from_dense
func.func @keep_from_dense(%t: !t, %u: !t, %w: tensor<4x16x16xf32>, %out: tensor<4x16x16xf32>) -> (tensor<4x16x16xf32>, tensor<4x16x16xf32>) {
  %e0 = tensor.empty() : tensor<32x64xf32>
  %e1 = tensor.empty() : tensor<4x16x16xf32>
  %dense = smet.to_dense ins(%t, %w : !t, tensor<4x16x16xf32>) outs(%e0 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %0 = smet.from_dense ins(%u, %dense : !t, tensor<32x64xf32>) outs(%e1 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %1 = smet.from_dense ins(%t, %dense : !t, tensor<32x64xf32>) outs(%out : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %0, %1 : tensor<4x16x16xf32>, tensor<4x16x16xf32>
}

// -----

// CHECK-LABEL: @remap_identity
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<4x16x16xf32>
// CHECK-NEXT: return %[[M]]
func.func @remap_identity(%m: tensor<4x16x16xf32>) -> tensor<4x16x16xf32> {
  %map = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %0 = smet.remap %map, %m : tensor<4xi32>, tensor<4x16x16xf32>
  return %0 : tensor<4x16x16xf32>
}

// A regrown slot becomes zero.
// CHECK-LABEL: @keep_remap
// CHECK: smet.remap
func.func @keep_remap(%m: tensor<4xi16>) -> tensor<4xi16> {
  %map = arith.constant dense<[0, 1, 2, -1]> : tensor<4xi32>
  %0 = smet.remap %map, %m : tensor<4xi32>, tensor<4xi16>
  return %0 : tensor<4xi16>
}

// -----

!t = !smet.topology<32x64, block = [16, 16], nnz = 4>

// CHECK-LABEL: @unpack_of_pack
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<3xi32>, %[[C:[a-z0-9]+]]: tensor<4xi16>
// CHECK-NEXT: return %[[P]], %[[C]]
func.func @unpack_of_pack(%p: tensor<3xi32>, %c: tensor<4xi16>, %tp: tensor<5xi32>, %tc: tensor<4xi16>, %perm: tensor<4xi32>) -> (tensor<3xi32>, tensor<4xi16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm : tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32> -> !t
  %0:5 = smet.topology.unpack %t : !t -> tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>
  return %0#0, %0#1 : tensor<3xi32>, tensor<4xi16>
}

// CHECK-LABEL: @pack_of_unpack
// CHECK-SAME: %[[T:[a-z0-9]+]]: !smet.topology
// CHECK-NEXT: return %[[T]]
func.func @pack_of_unpack(%t: !t) -> !t {
  %0:5 = smet.topology.unpack %t : !t -> tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>
  %1 = smet.topology.pack %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32> -> !t
  return %1 : !t
}

// Another order of arrays is another topology.
// CHECK-LABEL: @keep_pack
// CHECK: smet.topology.pack
func.func @keep_pack(%t: !t) -> !t {
  %0:5 = smet.topology.unpack %t : !t -> tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>
  %1 = smet.topology.pack %0#0, %0#3, %0#2, %0#1, %0#4 : tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32> -> !t
  return %1 : !t
}
