// RUN: smet-opt %s --smet-fuse-optimizer | FileCheck %s

!t = !smet.topology<48x32, block = [16, 16], nnz = 4>
!w = tensor<4x16x16xf32>

// The fused op stands behind the read of the old weight.
// CHECK-LABEL: func.func @fused(
// CHECK-SAME:    %[[T:.*]]: !smet.topology{{.*}}, %[[X:.*]]: tensor<64x32xf32>, %[[DY:.*]]: tensor<64x48xf32>, %[[LR:.*]]: tensor<f32>, %[[STEP:.*]]: tensor<i64>, %[[W:.*]]: tensor<4x16x16xf32>, %[[M:.*]]: tensor<4x16x16xf32>, %[[V:.*]]: tensor<4x16x16xf32>, %[[AGE:.*]]: tensor<4xi16>)
// CHECK-NEXT:    tensor.empty() : tensor<64x32xf32>
// CHECK-NEXT:    %[[DX:.*]] = smet.spmm
// CHECK-NEXT:    %[[NEW:.*]]:4 = smet.sddmm_adam ins(%[[T]], %[[X]], %[[DY]], %[[LR]], %[[STEP]] : {{.*}}) outs(%[[W]], %[[M]], %[[V]], %[[AGE]] : {{.*}}) {adamw = #smet.adamw<beta1 = 5.000000e-01>}
// CHECK-NEXT:    return %[[DX]], %[[NEW]]#0
func.func @fused(%t: !t, %x: tensor<64x32xf32>, %dy: tensor<64x48xf32>, %lr: tensor<f32>, %step: tensor<i64>,
                 %w: !w, %m: !w, %v: !w, %age: tensor<4xi16>) -> (tensor<64x32xf32>, !w) {
  %e0 = tensor.empty() : !w
  %g = smet.sddmm ins(%t, %x, %dy : !t, tensor<64x32xf32>, tensor<64x48xf32>) outs(%e0 : !w) -> !w
  %e1 = tensor.empty() : tensor<64x32xf32>
  %dx = smet.spmm ins(%t, %w, %dy : !t, !w, tensor<64x48xf32>) outs(%e1 : tensor<64x32xf32>) {transpose} -> tensor<64x32xf32>
  %new:4 = smet.adam_step ins(%t, %g, %lr, %step : !t, !w, tensor<f32>, tensor<i64>)
    outs(%w, %m, %v, %age : !w, !w, !w, tensor<4xi16>) {adamw = #smet.adamw<beta1 = 0.5>} -> !w, !w, !w, tensor<4xi16>
  return %dx, %new#0 : tensor<64x32xf32>, !w
}

// A gradient that someone else reads, or that is added to, stays.
// CHECK-LABEL: func.func @not_fused(
// CHECK-COUNT-2: smet.adam_step
func.func @not_fused(%t: !t, %x: tensor<64x32xf32>, %dy: tensor<64x48xf32>, %lr: tensor<f32>, %step: tensor<i64>,
                     %w: !w, %m: !w, %v: !w, %age: tensor<4xi16>, %sum: !w) -> (!w, !w, !w) {
  %e0 = tensor.empty() : !w
  %g = smet.sddmm ins(%t, %x, %dy : !t, tensor<64x32xf32>, tensor<64x48xf32>) outs(%e0 : !w) -> !w
  %a:4 = smet.adam_step ins(%t, %g, %lr, %step : !t, !w, tensor<f32>, tensor<i64>)
    outs(%w, %m, %v, %age : !w, !w, !w, tensor<4xi16>) {adamw = #smet.adamw<>} -> !w, !w, !w, tensor<4xi16>
  %h = smet.sddmm ins(%t, %x, %dy : !t, tensor<64x32xf32>, tensor<64x48xf32>) outs(%sum : !w) {accumulate} -> !w
  %b:4 = smet.adam_step ins(%t, %h, %lr, %step : !t, !w, tensor<f32>, tensor<i64>)
    outs(%w, %m, %v, %age : !w, !w, !w, tensor<4xi16>) {adamw = #smet.adamw<>} -> !w, !w, !w, tensor<4xi16>
  return %g, %a#0, %b#0 : !w, !w, !w
}
