// RUN: smet-opt %s --smet-differentiate --smet-build-steps --split-input-file | FileCheck %s
// RUN: smet-opt %s --smet-differentiate --smet-build-steps=gradients=true --split-input-file | FileCheck %s --check-prefix=GRADIENTS

!t = !smet.topology<16x16, block = [8, 16], nnz = 1>

// CHECK:       module attributes
// CHECK-SAME:    smet.layers = "[{\22block\22:[8,16],\22cols\22:16,\22id\22:1,\22name\22:\22up\22,\22nnz\22:1,\22rows\22:16}]"
module attributes {smet.adamw = #smet.adamw<beta1 = 0.5>, smet.growth = #smet.growth<random>} {

// The topology is drawn first: which element of the dense matrix a value is decides what it is drawn as.
// CHECK-LABEL: func.func @init(
// CHECK-SAME:    %[[SEED:[a-z0-9]+]]: tensor<i64> {bufferization.writable = false, smet.name = "seed", smet.role = "input"}
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<40x16xf32> {bufferization.writable = true
// CHECK-SAME:    %[[UP:[a-z0-9]+]]: tensor<1x8x16xf32> {bufferization.writable = true
// CHECK-SAME:    smet.name = "table.m", smet.role = "state"
// CHECK-SAME:    smet.name = "up.m", smet.role = "state"
// CHECK-SAME:    %[[AGE:[a-z0-9]+]]: tensor<1xi16> {bufferization.writable = true, smet.name = "up.age", smet.role = "state"}
// CHECK-SAME:    %[[T:[a-z0-9]+]]: !smet.topology<16x16, block = [8, 16], nnz = 1> {bufferization.writable = true, smet.name = "up.topology", smet.role = "topology"}
// CHECK:         smet.init_normal %[[SEED]] into %[[TABLE]] {layer = 0 : i64, std = 2.000000e-02 : f64}
// CHECK:         %[[T1:.*]] = smet.topology.init %[[SEED]] into %[[T]] {layer = 1 : i64}
// CHECK:         smet.init_normal %[[SEED]] at %[[T1]] : {{.*}} into %[[UP]] {layer = 1 : i64, std = 5.000000e-01 : f64}
// CHECK:         smet.fill into %[[AGE]] {value = 0.000000e+00 : f64}
// CHECK:         smet.fill into %{{.*}} {value = 1.000000e+00 : f64} : tensor<16xf32>

// The loss is checked before anything is written; each step stands behind its gradient and the last read of the weight.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<40x16xf32> {bufferization.writable = true
// CHECK-SAME:    %[[UP:[a-z0-9]+]]: tensor<1x8x16xf32> {bufferization.writable = true
// CHECK-SAME:    %[[T:[a-z0-9]+]]: !smet.topology<16x16, block = [8, 16], nnz = 1> {bufferization.writable = false
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: tensor<f32> {bufferization.writable = false, smet.name = "lr", smet.role = "input"}
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: tensor<i64> {bufferization.writable = false, smet.name = "step", smet.role = "input"}
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: tensor<f32> {bufferization.writable = true, smet.name = "loss", smet.role = "output"}
// CHECK-SAME:    -> (tensor<f32> {smet.name = "loss"}, tensor<40x16xf32> {smet.name = "table"}, tensor<40x16xf32> {smet.name = "table.m"}
// CHECK:         %[[LOSS:.*]]:2 = nn.linear_cross_entropy {{.*}} outs(%[[OUT]],
// CHECK-NEXT:    smet.check_finite %[[LOSS]]#0
// CHECK:         nn.rms_norm_grad
// CHECK-NEXT:    smet.dense_adam_step
// CHECK:         %[[G:.*]] = smet.sddmm
// CHECK:         smet.spmm ins(%[[T]], %[[UP]],
// CHECK-NEXT:    smet.adam_step ins(%[[T]], %[[G]], %[[LR]], %[[STEP]] : {{.*}}) outs(%[[UP]], {{.*}} {adamw = #smet.adamw<beta1 = 5.000000e-01>}
// CHECK:         nn.embedding_grad
// CHECK:         nn.add
// CHECK-NEXT:    smet.dense_adam_step {{.*}} outs(%[[TABLE]],

// CHECK-LABEL: func.func @eval_step(
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: tensor<f32> {bufferization.writable = true, smet.name = "loss", smet.role = "output"})
// CHECK-SAME:    -> (tensor<f32> {smet.name = "loss"})
// CHECK:         nn.linear_cross_entropy {{.*}} outs(%[[OUT]],

// CHECK-LABEL: func.func @update_topology(
// CHECK-SAME:    %[[UP:[a-z0-9]+]]: tensor<1x8x16xf32>
// CHECK-SAME:    smet.name = "prune_rate"
// CHECK-NOT:     table
// CHECK:         %[[SCORE:.*]] = smet.score ins(%[[UP]] :
// CHECK:         %[[KEEP:.*]] = smet.prune %[[T:.*]], %[[SCORE]],
// CHECK:         %[[GROWN:.*]] = smet.grow <random> %[[T]], %[[KEEP]], {{.*}} {layer = 1 : i64}
// CHECK:         %[[NEW:.*]], %[[MAP:.*]] = smet.update_topology %[[T]], %[[KEEP]], %[[GROWN]]
// CHECK-COUNT-4: smet.remap %[[MAP]],
// CHECK-NOT:   func.func

// The same gradients as an entry point of their own.
// GRADIENTS-LABEL: func.func @gradients(
// GRADIENTS-SAME:    %[[G:[a-z0-9]+]]: tensor<1x8x16xf32> {bufferization.writable = true, smet.name = "up.grad", smet.role = "output"}
// GRADIENTS:         smet.sddmm {{.*}} outs(%[[G]] :
// GRADIENTS-NOT:     adam_step
func.func @forward(%table: tensor<40x16xf32> {smet.name = "table", smet.role = "param", smet.layer = 0 : i64, smet.init = {normal = 0.02}},
                   %up: tensor<1x8x16xf32> {smet.name = "up", smet.role = "param", smet.layer = 1 : i64, smet.init = {normal = 0.5}, smet.topology = "up.topology"},
                   %gamma: tensor<16xf32> {smet.name = "gamma", smet.role = "param", smet.layer = 2 : i64, smet.init = {fill = 1.0}},
                   %t: !t {smet.name = "up.topology", smet.role = "topology"},
                   %tokens: tensor<64xi32> {smet.name = "tokens", smet.role = "input"},
                   %targets: tensor<64xi32> {smet.name = "targets", smet.role = "input"},
                   %n: tensor<i32> {smet.name = "num_valid", smet.role = "input"})
    -> (tensor<f32> {smet.name = "loss", smet.role = "output"}) {
  %e0 = tensor.empty() : tensor<64x16xf32>
  %x = nn.embedding ins(%table, %tokens : tensor<40x16xf32>, tensor<64xi32>) outs(%e0 : tensor<64x16xf32>) -> tensor<64x16xf32>
  %e1 = tensor.empty() : tensor<64x16xf32>
  %y = smet.linear ins(%t, %up, %x : !t, tensor<1x8x16xf32>, tensor<64x16xf32>) outs(%e1 : tensor<64x16xf32>) -> tensor<64x16xf32>
  %e2 = tensor.empty() : tensor<64x16xf32>
  %z = nn.rms_norm ins(%y, %gamma : tensor<64x16xf32>, tensor<16xf32>) outs(%e2 : tensor<64x16xf32>) {eps = 1.0e-6 : f64} -> tensor<64x16xf32>
  %e3 = tensor.empty() : tensor<f32>
  %e4 = tensor.empty() : tensor<64xf32>
  %loss:2 = nn.linear_cross_entropy ins(%z, %table, %targets, %n : tensor<64x16xf32>, tensor<40x16xf32>, tensor<64xi32>, tensor<i32>)
    outs(%e3, %e4 : tensor<f32>, tensor<64xf32>) -> tensor<f32>, tensor<64xf32>
  return %loss#0 : tensor<f32>
}
}

// -----

// Without @forward, functions are entry points as they are. The cache is an argument already, the result is not.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME:    %[[X:.*]]: tensor<1x16xf32> {bufferization.writable = false
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<1x16xf32> {bufferization.writable = true, smet.name = "cache", smet.role = "state"}
// CHECK-SAME:    %[[L:[a-z0-9]+]]: tensor<1x16xf32> {bufferization.writable = true, smet.name = "logits", smet.role = "output"})
// CHECK-SAME:    -> (tensor<1x16xf32> {smet.name = "logits"}, tensor<1x16xf32> {smet.name = "cache"})
// CHECK-NEXT:    nn.add ins(%[[X]], %[[X]] : {{.*}}) outs(%[[C]] :
// CHECK-NEXT:    nn.add {{.*}} outs(%[[L]] :
func.func @decode(%x: tensor<1x16xf32> {smet.name = "x", smet.role = "input"},
                  %cache: tensor<1x16xf32> {smet.name = "cache", smet.role = "state"})
    -> (tensor<1x16xf32> {smet.name = "logits", smet.role = "output"}, tensor<1x16xf32> {smet.name = "cache", smet.role = "state"}) {
  %c = nn.add ins(%x, %x : tensor<1x16xf32>, tensor<1x16xf32>) outs(%cache : tensor<1x16xf32>) -> tensor<1x16xf32>
  %e = tensor.empty() : tensor<1x16xf32>
  %y = nn.add ins(%x, %c : tensor<1x16xf32>, tensor<1x16xf32>) outs(%e : tensor<1x16xf32>) -> tensor<1x16xf32>
  return %y, %c : tensor<1x16xf32>, tensor<1x16xf32>
}
