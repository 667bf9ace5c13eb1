// RUN: smet-opt %s --smet-convert-gpu-to-emulator | FileCheck %s
// RUN: smet-opt %s --smet-convert-gpu-to-emulator=check=true | FileCheck %s --check-prefix=CHECKED

// What a thread executes, as it also goes to PTX.
gpu.module @m {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 64 : i64} : !llvm.array<4 x f32>
  llvm.mlir.global internal @more() {addr_space = 3 : i32} : !llvm.array<3 x f32>
  llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

  // CHECK-LABEL: llvm.func @m.place(
  // CHECK-SAME: %[[E:.*]]: !llvm.ptr, %[[ARGUMENTS:.*]]: !llvm.ptr)
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[ARGUMENTS]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  // CHECK: %[[ADDRESS:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[X:.*]] = llvm.load %[[ADDRESS]] : !llvm.ptr -> !llvm.ptr<1>
  llvm.func @place(%x: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    // CHECK: llvm.getelementptr %[[E]][0] : (!llvm.ptr) -> !llvm.ptr, i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    // CHECK: llvm.getelementptr %[[E]][7] : (!llvm.ptr) -> !llvm.ptr, i32
    %b = nvvm.read.ptx.sreg.ctaid.y : i32
    %i = llvm.add %t, %b : i32
    // The shared memory's pointer is at byte 48; @tile lies first, then @more, and @dynamic at the end.
    // CHECK: %[[SHARED:.*]] = llvm.getelementptr %[[E]][6] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    // CHECK: %[[BASE:.*]] = llvm.load %[[SHARED]] : !llvm.ptr -> !llvm.ptr<3>
    // CHECK: llvm.getelementptr %[[BASE]][16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %s = llvm.mlir.addressof @more : !llvm.ptr<3>
    // CHECK: llvm.getelementptr %{{.*}}[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %d = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    // CHECK: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
    // A store (1) of four bytes, not to memory of an argument.
    // CHECKED: llvm.mlir.constant(4 : i32)
    // CHECKED-NEXT: llvm.mlir.constant(1 : i32)
    // CHECKED-NEXT: llvm.mlir.constant(-1 : i32)
    // CHECKED: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
    llvm.store %i, %s : i32, !llvm.ptr<3>
    // CHECK: llvm.getelementptr %[[E]][8] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    // CHECK: llvm.call %{{.*}}(%[[E]], %{{.*}}, %{{.*}}, %{{.*}}) {convergent} : !llvm.ptr, (!llvm.ptr, i32, i32, i32) -> ()
    nvvm.barrier0
    // CHECKED: llvm.mlir.constant(4 : i32)
    // CHECKED-NEXT: llvm.mlir.constant(1 : i32)
    // CHECKED-NEXT: %[[ARGUMENT:.*]] = llvm.mlir.constant(0 : i32)
    // CHECKED: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ARGUMENT]])
    // CHECKED-NEXT: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<1>
    %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %b, %p : i32, !llvm.ptr<1>
    llvm.return
  }

  // CHECK: llvm.mlir.global external constant @m.place.kernel() {{.*}} : !llvm.struct<(ptr, ptr, i64, i64, ptr, ptr, ptr, i64)>
  // CHECK: llvm.mlir.addressof @m.place : !llvm.ptr
  // CHECK: llvm.mlir.constant(128 : i64)

  // A multiply-add on four lanes and an add: nine operations.
  // CHECKED-LABEL: llvm.func @m.operations
  // CHECKED: %[[NINE:.*]] = llvm.mlir.constant(9 : i64) : i64
  // CHECKED: llvm.add %{{.*}}, %[[NINE]] : i64
  llvm.func @operations(%a: vector<4xf32>, %x: f32, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.intr.fma(%a, %a, %a) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %1 = llvm.fadd %x, %x : f32
    llvm.store %0, %out : vector<4xf32>, !llvm.ptr<1>
    llvm.store %1, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}
