// RUN: smet-opt %s --smet-to-entry-points | FileCheck %s
// RUN: smet-opt %s --smet-to-kernels | FileCheck %s
// RUN: smet-opt %s --smet-to-cpu | FileCheck %s
// RUN: smet-opt %s --smet-to-reference | FileCheck %s
// RUN: smet-opt %s --smet-to-cpu --smet-to-llvm | FileCheck %s
// RUN: smet-opt %s --smet-to-entry-points --smet-to-cpu --smet-to-cpu | FileCheck %s

// Every pipeline takes a module without a function that concerns it, also twice.
// CHECK: llvm.func @foreign
llvm.func @foreign(%x: !llvm.ptr) {
  llvm.return
}
