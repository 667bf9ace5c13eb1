// RUN: smet-opt %s -smet-expand-math | FileCheck %s
// RUN: smet-opt %s -smet-expand-math -smet-expand-math | FileCheck %s

// exp and log in f32, scalar or vector, become arithmetic; sqrt is an instruction, and double stays a call.
// CHECK-LABEL: func.func @f(
// CHECK-NOT:     math.exp {{.*}} f32
// CHECK-NOT:     math.log {{.*}} f32
// CHECK:         math.fma {{.*}} : f32
// CHECK:         math.fma {{.*}} : vector<16xf32>
// CHECK:         math.sqrt {{.*}} : vector<16xf32>
// CHECK:         math.exp {{.*}} : f64
// CHECK-NOT:     math.log {{.*}} f32
func.func @f(%a: f32, %b: vector<16xf32>, %c: f64) -> (f32, vector<16xf32>, f64) {
  %0 = math.exp %a : f32
  %1 = math.log %b : vector<16xf32>
  %2 = math.exp %1 : vector<16xf32>
  %3 = math.sqrt %2 : vector<16xf32>
  %4 = math.exp %c : f64
  return %0, %3, %4 : f32, vector<16xf32>, f64
}

// Nineteen operations, none of which looks for NaN, infinity or what is below 2^-126.
// CHECK-LABEL: func.func @exp(
// CHECK-COUNT-2: arith.select
// CHECK:         math.fma
// CHECK:         arith.shli {{.*}} : vector<16xi32>
// CHECK:         arith.subf
// CHECK-COUNT-8: math.fma
// CHECK-NOT:     arith.cmp
// CHECK-NOT:     arith.select
// CHECK:         return
func.func @exp(%a: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %a : vector<16xf32>
  return %0 : vector<16xf32>
}
