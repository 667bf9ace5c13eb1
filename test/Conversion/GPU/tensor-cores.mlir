// RUN: smet-opt %s --smet-convert-kernels-to-gpu --canonicalize --cse --split-input-file | FileCheck %s

// A block of 16 x 128 sums, four stages ahead: a thread asks for 16 bytes of x twice and of the weights once, in groups;
// a barrier stands between the wait and ldmatrix, and no other in the loop. W lies along the depth, x across it.
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     smet.spmm
// CHECK:         gpu.launch
// CHECK-SAME:      workgroup({{.*}} : memref<4x16x16xbf16, 3>, {{.*}} : memref<4x16x128xbf16, 3>)
// CHECK:           nvgpu.device_async_copy {{.*}}, 8 {bypassL1} : memref<?x16x16xbf16> to memref<4x16x16xbf16, 3>
// CHECK-COUNT-2:   nvgpu.device_async_copy {{.*}}, 8 {bypassL1} : memref<1x64x256xbf16> to memref<4x16x128xbf16, 3>
// CHECK:           nvvm.cp.async.commit.group
// CHECK:           scf.for
// CHECK:             nvvm.cp.async.wait.group 2
// CHECK-NEXT:        gpu.barrier
// CHECK:             nvgpu.device_async_copy
// CHECK:             nvvm.cp.async.commit.group
// CHECK-COUNT-2:     nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = true} : memref<4x16x128xbf16, 3> -> vector<4x2xbf16>
// CHECK:             nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = false} : memref<4x16x16xbf16, 3> -> vector<4x2xbf16>
// CHECK-COUNT-4:     nvvm.mma.sync A{{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-NOT:         gpu.barrier
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xbf16>, %x: memref<1x64x256xbf16>, %y: memref<1x32x256xbf16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xbf16>, memref<1x64x256xbf16>) outs(%y : memref<1x32x256xbf16>)
  return
}

// -----

// Of the transpose, the weights lie across the depth.
// CHECK-LABEL: func.func @main(
// CHECK:         nvgpu.ldmatrix {{.*}} transpose = true} : memref<4x16x128xbf16, 3>
// CHECK:         nvgpu.ldmatrix {{.*}} transpose = true} : memref<4x16x16xbf16, 3>
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %w: memref<?x16x16xbf16>, %x: memref<1x32x256xbf16>, %y: memref<1x64x256xbf16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xbf16>, memref<1x32x256xbf16>) outs(%y : memref<1x64x256xbf16>)
    {transpose}
  return
}

// -----

// Both factors of SDDMM lie along the depth, which are tokens. Four warps have a quarter of them each; their sums meet in
// shared memory.
// CHECK-LABEL: func.func @main(
// CHECK:         gpu.launch
// CHECK-SAME:      memref<4x16x16xf32, 3>
// CHECK:           nvvm.cp.async.wait.group 2
// CHECK-COUNT-2:   nvgpu.ldmatrix {{.*}} transpose = false} : memref<4x16x128xbf16, 3>
// CHECK-COUNT-2:   nvvm.mma.sync
// CHECK:           vector.store {{.*}} : memref<4x16x16xf32, 3>, vector<2xf32>
// CHECK:           gpu.barrier
// CHECK-COUNT-4:   vector.load {{.*}} : memref<4x16x16xf32, 3>, vector<4xf32>
// CHECK:           vector.store {{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %x: memref<1x64x256xbf16>, %dy: memref<1x32x256xbf16>, %dw: memref<?x16x16xf32>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.sddmm ins(%t, %x, %dy : !t, memref<1x64x256xbf16>, memref<1x32x256xbf16>) outs(%dw : memref<?x16x16xf32>)
  return
}

// -----

// f32 and smaller blocks are SIMT's.
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     nvvm
// CHECK:         return
!t = !smet.topology<32x64, block = [16, 16], nnz = ?>
!u = !smet.topology<32x64, block = [16, 8], nnz = ?>
func.func @main(%p: memref<3xi32>, %c: memref<?xi16>, %tp: memref<5xi32>, %tc: memref<?xi16>, %perm: memref<?xi32>,
                %tq: memref<9xi32>, %w: memref<?x16x16xf32>, %x: memref<1x64x256xf32>, %y: memref<1x32x256xf32>,
                %v: memref<?x16x8xbf16>, %s: memref<1x64x256xbf16>, %z: memref<1x32x256xbf16>) {
  %t = smet.topology.pack %p, %c, %tp, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<5xi32>, memref<?xi16>, memref<?xi32> -> !t
  smet.spmm ins(%t, %w, %x : !t, memref<?x16x16xf32>, memref<1x64x256xf32>) outs(%y : memref<1x32x256xf32>)
  %u = smet.topology.pack %p, %c, %tq, %tc, %perm
    : memref<3xi32>, memref<?xi16>, memref<9xi32>, memref<?xi16>, memref<?xi32> -> !u
  smet.spmm ins(%u, %v, %s : !u, memref<?x16x8xbf16>, memref<1x64x256xbf16>) outs(%z : memref<1x32x256xbf16>)
  return
}
