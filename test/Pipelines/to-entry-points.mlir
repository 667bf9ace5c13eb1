// RUN: smet-opt %S/Inputs/layer.mlir --smet-to-entry-points | FileCheck %s --implicit-check-not='@forward' --implicit-check-not='smet.linear' --implicit-check-not='smet.sddmm{{ }}' --implicit-check-not='smet.adam_step'

// From the forward alone: four entry points on tensors. The masked layer is SpMM, its gradient is fused with its optimizer
// step, the loss with its gradient, and the step stands behind the last read of the old weight.

// CHECK:       module attributes
// CHECK-SAME:    smet.layers = "[{\22block\22:[16,16],\22cols\22:32,\22id\22:2,\22name\22:\22w\22,\22nnz\22:2,\22rows\22:32}]"
// CHECK-LABEL: func.func @init(
// CHECK:         smet.topology.init
// CHECK-NEXT:    smet.init_normal {{.*}} at
// CHECK-LABEL: func.func @train_step(
// CHECK:         nn.embedding ins
// CHECK:         nn.rms_norm ins
// CHECK:         smet.spmm
// CHECK:         nn.add
// CHECK:         %[[LOSS:.*]]:3 = nn.linear_cross_entropy_with_grad ins
// CHECK-NEXT:    smet.check_finite %[[LOSS]]#0
// CHECK:         smet.spmm {{.*}}{transpose}
// CHECK-NEXT:    smet.sddmm_adam
// CHECK:         nn.rms_norm_grad
// CHECK-NEXT:    smet.dense_adam_step
// The table is read by embedding and loss: one sum of both gradients, one step.
// CHECK:         %[[DTABLE:.*]] = nn.embedding_grad
// CHECK:         nn.add ins(%{{.*}}, %[[DTABLE]] :
// CHECK-NEXT:    smet.dense_adam_step
// CHECK-NEXT:    return
// CHECK-LABEL: func.func @eval_step(
// CHECK:         nn.linear_cross_entropy
// CHECK-NOT:     _grad
// CHECK-LABEL: func.func @update_topology(
// CHECK:         smet.score
// CHECK:         smet.prune
// CHECK:         smet.grow
// CHECK:         smet.update_topology
// CHECK-COUNT-4: smet.remap
// CHECK-NOT:   func.func
