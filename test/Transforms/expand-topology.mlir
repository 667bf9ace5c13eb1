// RUN: smet-opt %s -smet-expand-topology -split-input-file | FileCheck %s

!t = !smet.topology<64x64, block = [16, 16], nnz = 4>
// CHECK-LABEL: func.func @update
// CHECK-SAME:    %[[P:arg0]]: tensor<5xi32> {smet.name = "w.topology.positions"}
// CHECK-SAME:    %[[C:arg1]]: tensor<4xi16> {smet.name = "w.topology.coordinates"}
// CHECK-SAME:    %[[TP:arg2]]: tensor<5xi32> {smet.name = "w.topology.t_positions"}
// CHECK-SAME:    %[[TC:arg3]]: tensor<4xi16> {smet.name = "w.topology.t_coordinates"}
// CHECK-SAME:    %[[PERM:arg4]]: tensor<4xi32> {smet.name = "w.topology.t_perm"}
// CHECK-SAME:    %[[S:arg5]]: tensor<4xf32> {smet.name = "score"}
// CHECK:         %[[K:.*]] = smet.routine "prune" ins(%[[S]], %{{.*}}) outs(%{{.*}}) words [4, 16]
// CHECK:         %[[G:.*]] = smet.routine "grow_random" ins(%[[P]], %[[C]], %[[K]], {{.*}} words [64, 64, 16, 16, 4, 3, 0]
// CHECK:         smet.routine "update_topology" ins(%[[K]], %[[G]] : {{.*}}) outs(%[[P]], %[[C]], %[[TP]], %[[TC]], %[[PERM]], {{.*}} words [64, 64, 16, 16, 4]
// CHECK:         smet.routine "remap" {{.*}} words [4, 1024]
func.func @update(%t: !t {smet.name = "w.topology"}, %s: tensor<4xf32> {smet.name = "score"}, %r: tensor<f64>, %seed: tensor<i64>,
                  %u: tensor<i64>, %w: tensor<4x16x16xf32>) -> (!t {smet.name = "w.topology"}, tensor<4x16x16xf32>) {
  %keep = smet.prune %t, %s, %r : !t, tensor<4xf32>, tensor<f64> -> tensor<4xi8>
  %grown = smet.grow <random> %t, %keep, %seed, %u {layer = 3} : !t, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
  %new, %map = smet.update_topology %t, %keep, %grown : !t, tensor<4xi8>, tensor<4xi32> -> tensor<4xi32>
  %w2 = smet.remap %map, %w : tensor<4xi32>, tensor<4x16x16xf32>
  return %new, %w2 : !t, tensor<4x16x16xf32>
}

// -----

!t = !smet.topology<64x64, block = [16, 16], nnz = 4>
// CHECK-LABEL: func.func @from_mask
// CHECK:         %[[T:.*]]:5 = smet.routine "topology_from_mask" ins(%arg0 : tensor<64x64xi8>) outs(%arg1, {{.*}} words [64, 64, 16, 16, 4]
// CHECK:         return %[[T]]#0, %[[T]]#1, %[[T]]#2, %[[T]]#3, %[[T]]#4
func.func @from_mask(%mask: tensor<64x64xi8>, %t: !t) -> !t {
  %new = smet.from_mask %mask into %t : tensor<64x64xi8>, !t
  return %new : !t
}

// CHECK-LABEL: func.func @init
// CHECK:         smet.routine "topology_init" ins(%arg0 : tensor<i64>) outs(%arg1, {{.*}} words [64, 64, 16, 16, 4, 5]
// CHECK:         smet.routine "init_normal_sparse" {{.*}} words [64, 64, 16, 16, 4, 5, 4581421828931458171, 0]
// CHECK:         smet.routine "fill" ins() outs(%arg7 : tensor<4xi16>) words [8, 0]
func.func @init(%seed: tensor<i64>, %t: !t, %w: tensor<4x16x16xf32>, %age: tensor<4xi16>) -> (!t, tensor<4x16x16xf32>, tensor<4xi16>) {
  %new = smet.topology.init %seed into %t {layer = 5} : tensor<i64>, !t
  %w1 = smet.init_normal %seed at %new : !t into %w {layer = 5, std = 2.0e-2 : f64} : tensor<i64>, tensor<4x16x16xf32>
  %a1 = smet.fill into %age {value = 0.0 : f64} : tensor<4xi16>
  return %new, %w1, %a1 : !t, tensor<4x16x16xf32>, tensor<4xi16>
}

// -----

// A dispatch passes the five arrays; the kernel, whose nnz is unknown, packs them for its body.
!t = !smet.topology<64x64, block = [16, 16], nnz = 4>
!k = !smet.topology<64x64, block = [16, 16], nnz = ?>
// CHECK-LABEL: func.func @call(
// CHECK:         smet.dispatch @k::@main ins(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 : tensor<5xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>, tensor<4x16x16xf32>, tensor<8x64xf32>) {{.*}} {smet.remat = 1 : i64}
// CHECK:       func.func @main(%[[P:.*]]: tensor<5xi32>, %[[C:.*]]: tensor<?xi16>, %[[TP:.*]]: tensor<5xi32>, %[[TC:.*]]: tensor<?xi16>, %[[PERM:.*]]: tensor<?xi32>,
// CHECK:         %[[T:.*]] = smet.topology.pack %[[P]], %[[C]], %[[TP]], %[[TC]], %[[PERM]]
// CHECK:         smet.spmm ins(%[[T]],
func.func @call(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = smet.dispatch @k::@main ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<8x64xf32>) outs(%y : tensor<8x64xf32>) {smet.remat = 1 : i64} -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
module @k {
  func.func @main(%t: !k, %w: tensor<?x16x16xf32>, %x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %0 = smet.spmm ins(%t, %w, %x : !k, tensor<?x16x16xf32>, tensor<8x64xf32>) outs(%y : tensor<8x64xf32>) -> tensor<8x64xf32>
    return %0 : tensor<8x64xf32>
  }
}

// -----

// CHECK-LABEL: func.func @dense
// CHECK:         smet.routine "init_normal_dense" ins(%arg0 : tensor<i64>) outs(%arg1 : tensor<8x4xf32>) words [32, 2, 4607182418800017408, 0]
// CHECK:         smet.routine "fill" ins() outs(%arg2 : tensor<4xf32>) words [16, 1065353216]
// CHECK:       func.func private @declared(tensor<65xi32> {smet.name = "t.positions"}, tensor<2xi16> {smet.name = "t.coordinates"}
func.func @dense(%seed: tensor<i64>, %w: tensor<8x4xf32>, %g: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %0 = smet.init_normal %seed into %w {layer = 2, std = 1.0 : f64} : tensor<i64>, tensor<8x4xf32>
  %1 = smet.fill into %g {value = 1.0 : f64} : tensor<4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<4xf32>
}
func.func private @declared(!smet.topology<64x64, block = [1, 1], nnz = 2> {smet.name = "t"})
