// RUN: smet-opt %s --smet-outline-launches | FileCheck %s
// RUN: smet-opt %s --smet-outline-launches --smet-lower-kernel | FileCheck %s --check-prefix=CALL

// An array of slots travels as its first slot and their number, constants are repeated inside.
// CHECK:       module @k attributes {gpu.container_module
// CHECK:         gpu.module @k.device
// CHECK:           gpu.func @launch0({{.*}}) kernel
// CHECK:             memref.reinterpret_cast {{.*}} to memref<?x4xf32>
// CHECK:         func.func @main(%[[X:.*]]: memref<?x4xf32>
// CHECK-DAG:       memref.dim %[[X]]
// CHECK-DAG:       memref.reinterpret_cast %[[X]] {{.*}} to memref<1x4xf32>
// CHECK:           gpu.launch_func @k.device::@launch0 {{.*}} args(
// CHECK-NOT:       gpu.launch blocks

// The launch reaches the runtime with the kernel's description, which is only declared here.
// CALL:         llvm.mlir.global external constant @k.device.launch0.kernel() {{.*}} : !llvm.struct<(ptr, ptr, i64, i64, ptr, ptr, ptr, i64)>
// CALL:         llvm.func @k.main(
// CALL:           %[[SLOT:.*]] = llvm.getelementptr %arg0[14]
// CALL:           llvm.load %[[SLOT]]
// CALL:           llvm.call
module @k {
  func.func @main(%x: memref<?x4xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %n = memref.dim %x, %c0 : memref<?x4xf32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
      memref.store %zero, %x[%bx, %tx] : memref<?x4xf32>
      gpu.terminator
    }
    return
  }
}
