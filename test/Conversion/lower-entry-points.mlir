// RUN: smet-opt %s -smet-lower-entry-points -split-input-file -verify-diagnostics | FileCheck %s

// A table has the offset of every operand, then the sizes that the kernel does not know; of a routine, offsets and words.
// CHECK-DAG:   llvm.mlir.global internal constant @table_step_0(dense<[64, 16, 128]> : tensor<3xi64>)
// CHECK-DAG:   llvm.mlir.global internal constant @table_step_1(dense<[128, 7, -1]> : tensor<3xi64>)
// CHECK-DAG:   llvm.func @k.main(!llvm.ptr, !llvm.ptr, !llvm.ptr)
// The hook is slot 13 of the context, and may be missing.
// CHECK:       llvm.func internal @trace(%[[C:.*]]: !llvm.ptr, %[[N:.*]]: i64) attributes {no_inline} {
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[C]][13]
// CHECK:         %[[HOOK:.*]] = llvm.load %[[PLACE]]
// CHECK:         %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK:         %[[PRESENT:.*]] = llvm.icmp "ne" %[[HOOK]], %[[NULL]]
// CHECK:         llvm.cond_br %[[PRESENT]], ^[[CALL:.*]], ^[[DONE:.*]]
// CHECK:       ^[[CALL]]:
// CHECK:         llvm.call %[[HOOK]](%[[C]], %[[N]]) : !llvm.ptr, (!llvm.ptr, i64) -> ()
// CHECK-LABEL: llvm.func @smet_step(
// CHECK-SAME:    %[[CONTEXT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr) -> i32
// Every call is announced by its number, and the end by -1.
// CHECK:         %[[C0:.*]] = llvm.mlir.constant(0 : i64)
// CHECK:         llvm.call @trace(%[[CONTEXT]], %[[C0]])
// CHECK:         %[[T0:.*]] = llvm.mlir.addressof @table_step_0
// CHECK:         llvm.call @k.main(%[[CONTEXT]], %[[ARENA]], %[[T0]]) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// A value that is not finite ends the entry point with 1: x - x is NaN then.
// CHECK:         %[[AT:.*]] = llvm.getelementptr %[[ARENA]][%{{.*}}]
// CHECK:         %[[V:.*]] = llvm.load %[[AT]] : !llvm.ptr -> f32
// CHECK:         %[[D:.*]] = llvm.fsub %[[V]], %[[V]]
// CHECK:         %[[NAN:.*]] = llvm.fcmp "uno" %[[D]], %[[D]]
// CHECK:         llvm.cond_br %[[NAN]], ^[[EXIT:.*]], ^[[NEXT:.*]]
// CHECK:       ^[[EXIT]]:
// CHECK:         %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK:         llvm.return %[[ONE]]
// The routine "fill" is slot 5 of the context; where it fails the entry point returns 2.
// CHECK:       ^[[NEXT]]:
// CHECK:         %[[C1:.*]] = llvm.mlir.constant(1 : i64)
// CHECK:         llvm.call @trace(%[[CONTEXT]], %[[C1]])
// CHECK:         %[[T1:.*]] = llvm.mlir.addressof @table_step_1
// CHECK:         %[[SLOT:.*]] = llvm.getelementptr %[[CONTEXT]][5]
// CHECK:         %[[FILL:.*]] = llvm.load %[[SLOT]]
// CHECK:         %[[STATUS:.*]] = llvm.call %[[FILL]](%[[CONTEXT]], %[[ARENA]], %[[T1]])
// CHECK:         %[[BAD:.*]] = llvm.icmp "ne" %[[STATUS]],
// CHECK:         llvm.cond_br %[[BAD]]
// CHECK:         llvm.mlir.constant(2 : i32)
// CHECK:         %[[END:.*]] = llvm.mlir.constant(-1 : i64)
// CHECK:         llvm.call @trace(%[[CONTEXT]], %[[END]])
// CHECK:         %[[OK:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-NEXT:    llvm.return %[[OK]]
func.func @step(%arena: memref<256xi8>) {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %x = memref.view %arena[%c64][] : memref<256xi8> to memref<16xf32>
  %y = memref.view %arena[%c128][] : memref<256xi8> to memref<f32>
  smet.dispatch @k::@main ins(%x : memref<16xf32>) outs(%y : memref<f32>)
  smet.check_finite %y : memref<f32>
  smet.routine "fill" ins() outs(%y : memref<f32>) words [7, -1]
  return
}
module @k {
  func.func @main(%x: memref<?xf32>, %y: memref<f32>) {
    return
  }
}

// -----

// Slots of the context, as runtime/program/Abi.h counts them.
// CHECK-LABEL: llvm.func @smet_routines(
// CHECK:         llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[4] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[5] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[6] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[7] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[8] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[9] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[12] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK:         llvm.getelementptr %arg0[16] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
func.func @routines(%arena: memref<64xi8>) {
  smet.routine "topology_init" ins() outs() words []
  smet.routine "init_normal_sparse" ins() outs() words []
  smet.routine "init_normal_dense" ins() outs() words []
  smet.routine "fill" ins() outs() words []
  smet.routine "prune" ins() outs() words []
  smet.routine "grow_random" ins() outs() words []
  smet.routine "update_topology" ins() outs() words []
  smet.routine "remap" ins() outs() words []
  smet.routine "topology_from_mask" ins() outs() words []
  smet.routine "check_prune" ins() outs() words []
  return
}

// -----

// A number is in the table as it is.
// CHECK:       llvm.mlir.global internal constant @table_number_0(dense<[64, -3, 0]> : tensor<3xi64>)
func.func @number(%arena: memref<128xi8>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %layer = arith.constant -3 : i64
  %x = memref.view %arena[%c64][] : memref<128xi8> to memref<4xf32>
  %y = memref.view %arena[%c0][] : memref<128xi8> to memref<4xf32>
  smet.dispatch @k::@main ins(%x, %layer : memref<4xf32>, i64) outs(%y : memref<4xf32>)
  return
}
module @k {
  func.func @main(%x: memref<4xf32>, %layer: i64, %y: memref<4xf32>) {
    return
  }
}

// -----

// expected-error @below {{expected a body of one block that takes the arena, a memref<?xi8>, and returns nothing; run smet-plan-memory first}}
func.func @no_arena(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{expected a body of one block that takes the arena}}
func.func private @declared(memref<64xi8>)

// -----

// expected-error @below {{expected a body of one block that takes the arena}}
func.func @two(%a: memref<64xi8>, %b: memref<64xi8>) {
  return
}

// -----

func.func @other_op(%arena: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %x = memref.view %arena[%c0][] : memref<64xi8> to memref<4xf32>
  // expected-error @below {{'nn.fill' cannot stand in an entry point of a program; expected dispatches and routines}}
  nn.fill outs(%x : memref<4xf32>) {value = 1.0 : f64}
  return
}

// -----

func.func @no_routine(%arena: memref<64xi8>) {
  // expected-error @below {{the runtime has no routine 'grow_faster'}}
  smet.routine "grow_faster" ins() outs() words []
  return
}

// -----

func.func @elsewhere(%arena: memref<64xi8>) {
  // expected-error @below {{'memref.alloc' cannot stand in an entry point}}
  %x = memref.alloc() : memref<4xf32>
  smet.routine "fill" ins() outs(%x : memref<4xf32>) words [16, 0]
  return
}

// -----

func.func @whole_arena(%arena: memref<64xi8>) {
  // expected-error @below {{operand of type 'memref<64xi8>' is no view of the arena at a constant place}}
  smet.routine "fill" ins() outs(%arena : memref<64xi8>) words [16, 0]
  return
}

// -----

func.func @not_in_arena(%arena: memref<64xi8>) {
  %x = arith.constant dense<1.0> : tensor<f32>
  // expected-error @below {{operand of type 'tensor<f32>' is no view of the arena at a constant place}}
  smet.check_finite %x : tensor<f32>
  return
}

// -----

func.func @not_main(%arena: memref<64xi8>) {
  // expected-error @below {{@k::@second is no func.func @main on memrefs and i64 in a kernel module; kernels are lowered after their callers}}
  smet.dispatch @k::@second ins() outs()
  return
}
module @k {
  func.func @main() {
    return
  }
  func.func @second() {
    return
  }
}
