// RUN: smet-opt %s -pass-pipeline='builtin.module(func.func(smet-pack-tokens))' -split-input-file | FileCheck %s

// An input is packed, an output unpacked into its argument, activations between are tiles.
// CHECK-LABEL: func.func @input_output(
// CHECK-SAME:    %[[X:arg0]]: tensor<128x48xf32>, %[[Y:arg1]]: tensor<128x48xf32>
// CHECK:         %[[P:.*]] = nn.pack ins(%[[X]] : tensor<128x48xf32>) outs(%{{.*}} : tensor<2x48x64xf32>)
// CHECK:         %[[S:.*]] = nn.silu_mul ins(%[[P]], %[[P]] : {{.*}}) outs(%{{.*}} : tensor<2x48x64xf32>)
// CHECK:         %[[U:.*]] = nn.unpack ins(%[[S]] : tensor<2x48x64xf32>) outs(%[[Y]] : tensor<128x48xf32>)
// CHECK:         return %[[U]]
func.func @input_output(%x: tensor<128x48xf32>, %y: tensor<128x48xf32>) -> tensor<128x48xf32> {
  %0 = nn.silu_mul ins(%x, %x : tensor<128x48xf32>, tensor<128x48xf32>) outs(%y : tensor<128x48xf32>) -> tensor<128x48xf32>
  return %0 : tensor<128x48xf32>
}

// -----

// A sum of parameter gradients is no activation; one token makes a small tile.
// CHECK-LABEL: func.func @gradients
// CHECK:         nn.add ins(%arg0, %arg0 : tensor<64x48xf32>, tensor<64x48xf32>)
// CHECK:         nn.rms_norm ins(%{{.*}} : tensor<1x48x16xf32>, tensor<48xf32>)
func.func @gradients(%g: tensor<64x48xf32>, %x: tensor<1x48xf32>, %gamma: tensor<48xf32>) -> (tensor<64x48xf32>, tensor<1x48xf32>) {
  %e = tensor.empty() : tensor<64x48xf32>
  %0 = nn.add ins(%g, %g : tensor<64x48xf32>, tensor<64x48xf32>) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
  %e1 = tensor.empty() : tensor<1x48xf32>
  %1 = nn.rms_norm ins(%x, %gamma : tensor<1x48xf32>, tensor<48xf32>) outs(%e1 : tensor<1x48xf32>) {eps = 1.0e-6 : f64} -> tensor<1x48xf32>
  return %0, %1 : tensor<64x48xf32>, tensor<1x48xf32>
}

// -----

// A cache is state and stored packed; it keeps what it holds beyond the token.
// CHECK-LABEL: func.func @cache(
// CHECK-SAME:    %[[K:arg[0-9]+]]: tensor<2x48x64xf32> {smet.role = "state"}
// CHECK:         nn.cached_attention {{.*}} outs(%{{.*}}, %[[K]], %{{.*}} : tensor<1x48x16xf32>, tensor<2x48x64xf32>, tensor<2x48x64xf32>)
func.func @cache(%q: tensor<1x48xf32>, %p: tensor<i32>, %k: tensor<128x48xf32> {smet.role = "state"}, %v: tensor<128x48xf32> {smet.role = "state"})
    -> (tensor<1x48xf32>, tensor<128x48xf32>, tensor<128x48xf32>) {
  %e = tensor.empty() : tensor<1x48xf32>
  %0:3 = nn.cached_attention ins(%q, %q, %q, %p : tensor<1x48xf32>, tensor<1x48xf32>, tensor<1x48xf32>, tensor<i32>)
    outs(%e, %k, %v : tensor<1x48xf32>, tensor<128x48xf32>, tensor<128x48xf32>) {num_heads = 4, num_kv_heads = 4}
    -> tensor<1x48xf32>, tensor<128x48xf32>, tensor<128x48xf32>
  return %0#0, %0#1, %0#2 : tensor<1x48xf32>, tensor<128x48xf32>, tensor<128x48xf32>
}

// -----

// What is added to is packed too, where it is no activation of another op.
// CHECK-LABEL: func.func @accumulate(
// CHECK-SAME:    %[[Y:arg3]]: tensor<64x48xf32>)
// CHECK:         %[[OLD:.*]] = nn.pack ins(%[[Y]] : tensor<64x48xf32>)
// CHECK:         %[[NEW:.*]] = smet.spmm {{.*}} outs(%[[OLD]] : tensor<1x48x64xf32>) {accumulate}
// CHECK:         nn.unpack ins(%[[NEW]] : tensor<1x48x64xf32>) outs(%[[Y]] : tensor<64x48xf32>)
!t = !smet.topology<48x32, block = [16, 16], nnz = 4>
func.func @accumulate(%t: !t, %w: tensor<4x16x16xf32>, %x: tensor<64x32xf32>, %y: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %0 = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<64x32xf32>) outs(%y : tensor<64x48xf32>) {accumulate} -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}

// -----

// Packing twice changes nothing more, and memrefs are not touched.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    %{{.*}}: tensor<2x48x64xf32>
// CHECK-NEXT:    nn.silu_mul
// CHECK-NEXT:    nn.silu_mul {{.*}} memref<128x48xf32>
// CHECK-NEXT:    return
func.func @packed(%x: tensor<2x48x64xf32>, %y: tensor<2x48x64xf32>, %m: memref<128x48xf32>) -> tensor<2x48x64xf32> {
  %0 = nn.silu_mul ins(%x, %x : tensor<2x48x64xf32>, tensor<2x48x64xf32>) outs(%y : tensor<2x48x64xf32>) -> tensor<2x48x64xf32>
  nn.silu_mul ins(%m, %m : memref<128x48xf32>, memref<128x48xf32>) outs(%m : memref<128x48xf32>)
  return %0 : tensor<2x48x64xf32>
}
