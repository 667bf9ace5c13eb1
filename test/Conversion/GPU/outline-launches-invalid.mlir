// RUN: smet-opt %s --smet-outline-launches --verify-diagnostics

func.func @main(%x: memref<4xf32>, %c1: index) {
  // expected-error @+1 {{smet-outline-launches: expected a launch in a module with a name}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}
