// RUN: smet-opt %s -smet-outline-routines -split-input-file | FileCheck %s

// The kernel says which score is NaN; the end of the entry point makes an error of it. Equal kernels are one.
// CHECK-LABEL: func.func @prune(
// CHECK-SAME:    %[[S:arg0]]: tensor<4xf32>, %[[S1:arg1]]: tensor<4xf32>, %[[R:arg2]]: tensor<f64>
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<i64>
// CHECK:         %[[K:.*]]:2 = smet.dispatch @[[PRUNE:k_prune_[0-9a-f]*]]::@main ins(%[[S]], %[[R]] : tensor<4xf32>, tensor<f64>)
// CHECK-SAME:      outs(%arg3, %[[E]] : tensor<4xi8>, tensor<i64>) {work = #smet.work<op = "prune", flops = 0, bytes = 28
// CHECK:         %[[K1:.*]]:2 = smet.dispatch @[[PRUNE]]::@main ins(%[[S1]], %[[R]]
// CHECK:         smet.routine "check_prune" ins(%[[R]], %[[K]]#1 : tensor<f64>, tensor<i64>) outs() words []
// CHECK-NEXT:    smet.routine "check_prune" ins(%[[R]], %[[K1]]#1 : tensor<f64>, tensor<i64>) outs() words []
// CHECK-NEXT:    return %[[K]]#0, %[[K1]]#0
// CHECK:       module @[[PRUNE]] attributes {sym_visibility = "private"} {
// CHECK-NEXT:    func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<f64>, %arg2: tensor<4xi8>, %arg3: tensor<i64>) -> (tensor<4xi8>, tensor<i64>) {
// CHECK-NEXT:      %[[R:.*]]:2 = smet.routine "prune" ins(%arg0, %arg1 : tensor<4xf32>, tensor<f64>) outs(%arg2, %arg3 : tensor<4xi8>, tensor<i64>) words [4, 16] -> tensor<4xi8>, tensor<i64>
// CHECK-NEXT:      return %[[R]]#0, %[[R]]#1
// CHECK-NOT:   module @
func.func @prune(%s: tensor<4xf32>, %s1: tensor<4xf32>, %rate: tensor<f64>, %e: tensor<4xi8>, %e1: tensor<4xi8>)
    -> (tensor<4xi8>, tensor<4xi8>) {
  %keep = smet.routine "prune" ins(%s, %rate : tensor<4xf32>, tensor<f64>) outs(%e : tensor<4xi8>) words [4, 16] -> tensor<4xi8>
  %keep1 = smet.routine "prune" ins(%s1, %rate : tensor<4xf32>, tensor<f64>) outs(%e1 : tensor<4xi8>) words [4, 16] -> tensor<4xi8>
  return %keep, %keep1 : tensor<4xi8>, tensor<4xi8>
}

// -----

// What starts a run stays on the host.
// CHECK-LABEL: func.func @init(
// CHECK:         smet.routine "fill"
// CHECK-NOT:   module @
func.func @init(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = smet.routine "fill" ins() outs(%x : tensor<4xf32>) words [16, 0] -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Layers differ in the layer, which is an argument.
// CHECK-LABEL: func.func @grow(
// CHECK:         %[[L3:.*]] = arith.constant 3 : i64
// CHECK:         smet.dispatch @[[GROW:k_grow_random_[0-9a-f]*]]::@main ins({{.*}}, %[[L3]] : tensor<5xi32>, tensor<4xi16>, tensor<4xi8>, tensor<i64>, tensor<i64>, i64)
// CHECK:         %[[L7:.*]] = arith.constant 7 : i64
// CHECK:         smet.dispatch @[[GROW]]::@main ins({{.*}}, %[[L7]] :
// CHECK:       module @[[GROW]]
// CHECK:         smet.routine "grow_random" ins(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5 : {{.*}}, i64) outs(%arg6 : tensor<4xi32>) words [64, 64, 16, 16, 4, 0, 1]
// CHECK-NOT:   module @
func.func @grow(%p: tensor<5xi32>, %c: tensor<4xi16>, %keep: tensor<4xi8>, %seed: tensor<i64>, %update: tensor<i64>,
                %e: tensor<4xi32>, %e1: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %r = smet.routine "grow_random" ins(%p, %c, %keep, %seed, %update : tensor<5xi32>, tensor<4xi16>, tensor<4xi8>, tensor<i64>, tensor<i64>)
      outs(%e : tensor<4xi32>) words [64, 64, 16, 16, 4, 3, 1] -> tensor<4xi32>
  %r1 = smet.routine "grow_random" ins(%p, %c, %keep, %seed, %update : tensor<5xi32>, tensor<4xi16>, tensor<4xi8>, tensor<i64>, tensor<i64>)
      outs(%e1 : tensor<4xi32>) words [64, 64, 16, 16, 4, 7, 1] -> tensor<4xi32>
  return %r, %r1 : tensor<4xi32>, tensor<4xi32>
}
