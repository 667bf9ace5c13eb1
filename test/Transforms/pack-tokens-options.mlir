// RUN: not smet-opt %s --smet-pack-tokens=tile=0 2>&1 | FileCheck %s
// RUN: not smet-opt %s --smet-to-cpu=tile=4096 2>&1 | FileCheck %s
// RUN: smet-opt %s --smet-pack-tokens="tile=16 small-tile=8" | FileCheck %s --check-prefix=SMALL
// RUN: smet-opt %s --smet-pack-tokens="tile=16 small-tile=8 whole=true" | FileCheck %s --check-prefix=WHOLE

// CHECK: error: smet-pack-tokens: tile sizes must be from 1 to 1024
// WHOLE: nn.silu_mul {{.*}} outs(%{{.*}} : tensor<1x48x48xf32>)
// SMALL: nn.silu_mul {{.*}} outs(%{{.*}} : tensor<3x48x16xf32>)
func.func @f(%x: tensor<40x48xf32>, %y: tensor<40x48xf32>) -> tensor<40x48xf32> {
  %0 = nn.silu_mul ins(%x, %x : tensor<40x48xf32>, tensor<40x48xf32>) outs(%y : tensor<40x48xf32>) -> tensor<40x48xf32>
  return %0 : tensor<40x48xf32>
}
