// RUN: smet-opt %s --smet-differentiate | FileCheck %s

!t = !smet.topology<32x16, block = [16, 16], nnz = 1>

// x is used twice, by a masked layer and by the residual: its gradient is the sum of both.
// CHECK-LABEL: func.func @forward(
// CHECK-NOT:     nn.fill
// CHECK-LABEL: func.func @forward_grad(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<40x16xf32> {smet.name = "table", smet.role = "param"}
// CHECK-SAME:    %[[UP:[a-z0-9]+]]: tensor<1x16x16xf32>
// CHECK-SAME:    -> (tensor<f32> {smet.name = "loss", smet.role = "output"},
// CHECK-SAME:        tensor<40x16xf32> {smet.name = "table.grad", smet.role = "output"},
// CHECK-SAME:        tensor<1x16x16xf32> {smet.name = "up.grad", smet.role = "output"},
// CHECK-SAME:        tensor<5xf32> {smet.name = "unused.grad", smet.role = "output"})
// CHECK:         %[[X:.*]] = nn.embedding
// CHECK:         %[[Y:.*]] = smet.linear
// CHECK:         %[[Z:.*]] = nn.silu_mul
// CHECK:         %[[LOSS:.*]]:2 = nn.linear_cross_entropy
// CHECK:         %[[ONE:.*]] = nn.fill {{.*}} {value = 1.000000e+00 : f64} -> tensor<f32>
// CHECK:         %[[DHEAD:.*]]:2 = nn.linear_cross_entropy_grad ins({{.*}}, %[[LOSS]]#1, %[[ONE]] :
// CHECK:         %[[DZ:.*]]:2 = nn.silu_mul_grad ins(%[[Y]], %[[Y]], %[[DHEAD]]#0 :
// CHECK:         %[[DY:.*]] = nn.add ins(%[[DZ]]#0, %[[DZ]]#1 :
// CHECK:         %[[DUP:.*]] = smet.sddmm ins({{.*}}, %[[X]], %[[DY]] :
// CHECK:         %[[DX:.*]] = smet.spmm ins({{.*}}, %[[UP]], %[[DY]] : {{.*}}) {{.*}}{transpose}
// CHECK:         %[[DTABLE:.*]] = nn.embedding_grad ins(%[[DX]],
// CHECK:         %[[ZERO:.*]] = nn.fill {{.*}} {value = 0.000000e+00 : f64} -> tensor<5xf32>
// CHECK:         return %[[LOSS]]#0, %[[DTABLE]], %[[DUP]], %[[ZERO]]
func.func @forward(%table: tensor<40x16xf32> {smet.name = "table", smet.role = "param"},
                   %up: tensor<1x16x16xf32> {smet.name = "up", smet.role = "param"},
                   %unused: tensor<5xf32> {smet.name = "unused", smet.role = "param"},
                   %head: tensor<40x32xf32>, %t: !t, %tokens: tensor<64xi32>, %targets: tensor<64xi32>, %n: tensor<i32>)
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  %e0 = tensor.empty() : tensor<64x16xf32>
  %x = nn.embedding ins(%table, %tokens : tensor<40x16xf32>, tensor<64xi32>) outs(%e0 : tensor<64x16xf32>) -> tensor<64x16xf32>
  %e1 = tensor.empty() : tensor<64x32xf32>
  %y = smet.linear ins(%t, %up, %x : !t, tensor<1x16x16xf32>, tensor<64x16xf32>) outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %e2 = tensor.empty() : tensor<64x32xf32>
  %z = nn.silu_mul ins(%y, %y : tensor<64x32xf32>, tensor<64x32xf32>) outs(%e2 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %e3 = tensor.empty() : tensor<f32>
  %e4 = tensor.empty() : tensor<64xf32>
  %loss:2 = nn.linear_cross_entropy ins(%z, %head, %targets, %n : tensor<64x32xf32>, tensor<40x32xf32>, tensor<64xi32>, tensor<i32>)
    outs(%e3, %e4 : tensor<f32>, tensor<64xf32>) -> tensor<f32>, tensor<64xf32>
  return %loss#0 : tensor<f32>
}
