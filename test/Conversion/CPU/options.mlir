// RUN: not smet-opt %s --smet-convert-kernels-to-cpu=vector-bits=0 2>&1 | FileCheck %s
// RUN: not smet-opt %s --smet-convert-kernels-to-cpu=vector-bits=384 2>&1 | FileCheck %s
// RUN: not smet-opt %s --smet-convert-kernels-to-cpu=num-registers=1 2>&1 | FileCheck %s

// CHECK: error: smet-convert-kernels-to-cpu: vector-bits must be a power of two from 128 to 2048 and num-registers at least 8, got
module {
}
