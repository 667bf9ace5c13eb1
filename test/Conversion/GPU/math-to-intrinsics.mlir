// RUN: smet-opt %s --smet-convert-math-to-intrinsics | FileCheck %s

// CHECK-NOT: math.
// CHECK: llvm.call_intrinsic "llvm.fma"({{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.call_intrinsic "llvm.sqrt"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.call_intrinsic "llvm.fabs"({{.*}}) : (f64) -> f64
func.func @f(%a: vector<4xf32>, %b: f64) -> (vector<4xf32>, f64) {
  %0 = math.fma %a, %a, %a : vector<4xf32>
  %1 = math.sqrt %0 : vector<4xf32>
  %2 = math.absf %b : f64
  return %1, %2 : vector<4xf32>, f64
}
