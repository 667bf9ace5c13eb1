// RUN: smet-opt %s --split-input-file --smet-to-gpu --smet-to-cuda="chip=sm_80 format=isa" | FileCheck %s

// Blocks of bf16 are multiplied on tensor cores, out of shared memory that asynchronous copies of 16 bytes fill.
// CHECK-LABEL: llvm.func @smet_blocks(
// CHECK:       llvm.mlir.global internal constant @k_smet_spmm_[[HASH:[0-9a-f]+]].device.image("
// CHECK-SAME:    .target sm_80
// CHECK-SAME:    .visible .entry k_smet_spmm_[[HASH]]_device_launch0(
// CHECK-SAME:    .maxntid 128
// CHECK-SAME:    cp.async.cg.shared.global {{[^;]*}}, 16;
// CHECK-SAME:    cp.async.commit_group
// CHECK-SAME:    cp.async.wait_group
// CHECK-SAME:    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK:       llvm.mlir.global external constant @k_smet_spmm_[[HASH]].device.launch0.kernel()
// CHECK-NOT:   gpu.module
// CHECK:       llvm.func @k_smet_spmm_[[HASH]].main(
!t = !smet.topology<64x64, block = [16, 16], nnz = 4>
func.func @blocks(%t: !t {smet.name = "t", smet.role = "topology", bufferization.writable = false},
                  %w: tensor<4x16x16xbf16> {smet.name = "w", smet.role = "param", bufferization.writable = false},
                  %x: tensor<128x64xbf16> {smet.name = "x", smet.role = "state", bufferization.writable = false},
                  %y: tensor<128x64xbf16> {smet.name = "y", smet.role = "state", bufferization.writable = true})
    -> (tensor<128x64xbf16> {smet.name = "y"}) {
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xbf16>, tensor<128x64xbf16>) outs(%y : tensor<128x64xbf16>)
    -> tensor<128x64xbf16>
  return %0 : tensor<128x64xbf16>
}

// -----

// Without tensor cores, four tokens are a load.
// CHECK-LABEL: llvm.func @smet_unstructured(
// CHECK:       llvm.mlir.global internal constant @k_smet_spmm_{{[0-9a-f]+}}.device.image("
// CHECK-SAME:    ld.global.v4.b32
// CHECK-SAME:    fma.rn.f32
// CHECK-SAME:    st.global.v4.b32
!u = !smet.topology<64x64, block = [1, 1], nnz = 400>
func.func @unstructured(%t: !u {smet.name = "t", smet.role = "topology", bufferization.writable = false},
                        %w: tensor<400x1x1xf32> {smet.name = "w", smet.role = "param", bufferization.writable = false},
                        %x: tensor<128x64xf32> {smet.name = "x", smet.role = "state", bufferization.writable = false},
                        %y: tensor<128x64xf32> {smet.name = "y", smet.role = "state", bufferization.writable = true})
    -> (tensor<128x64xf32> {smet.name = "y"}) {
  %0 = smet.spmm ins(%t, %w, %x : !u, tensor<400x1x1xf32>, tensor<128x64xf32>) outs(%y : tensor<128x64xf32>)
    -> tensor<128x64xf32>
  return %0 : tensor<128x64xf32>
}
