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
