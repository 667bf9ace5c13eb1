// RUN: smet-opt %s --smet-lower-entry-points=on-device=true | FileCheck %s

// The arena is a device's memory: what the check looks at, the loss, is read through slot 15 of the context.
// CHECK-LABEL: llvm.func @smet_step(
// CHECK-SAME:    %[[CONTEXT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr) -> i32
// CHECK:         %[[HOST:.*]] = llvm.alloca %{{.*}} x f32
// CHECK:         %[[ADDRESS:.*]] = llvm.getelementptr %[[ARENA]]
// CHECK:         %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[CONTEXT]][15]
// CHECK:         %[[READ:.*]] = llvm.load %[[PLACE]]
// CHECK:         llvm.call %[[READ]](%[[CONTEXT]], %[[HOST]], %[[ADDRESS]], %[[BYTES]])
// CHECK-NOT:     llvm.load %[[ADDRESS]]
// CHECK:         llvm.load %[[HOST]] : !llvm.ptr -> f32
func.func @step(%arena: memref<256xi8>) {
  %c128 = arith.constant 128 : index
  %y = memref.view %arena[%c128][] : memref<256xi8> to memref<f32>
  smet.check_finite %y : memref<f32>
  return
}
