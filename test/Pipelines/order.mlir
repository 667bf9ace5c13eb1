// RUN: not smet-opt %S/Inputs/layer.mlir --smet-to-llvm 2>&1 | FileCheck %s --check-prefix=LLVM
// RUN: not smet-opt %S/Inputs/layer.mlir --smet-to-kernels 2>&1 | FileCheck %s --check-prefix=KERNELS
// RUN: not smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-entry-points --smet-to-kernels --smet-to-entry-points 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not smet-opt %S/Inputs/layer.mlir --smet-to-entry-points --smet-to-cpu --smet-to-cpu 2>&1 | FileCheck %s --check-prefix=CPU

// Pipelines in the wrong order say which one is missing, or what they cannot take.
// LLVM: layer.mlir:6:1: error: smet-lower-entry-points: expected a body of one block that takes the arena, a memref<?xi8>, and returns nothing; run smet-plan-memory first
// KERNELS: layer.mlir:6:1: error: smet-verify-contract: result #0 'loss' is a new buffer, not an argument updated in place; write it to the argument of its name (outs)
// Entry points may be built again from entry points, but not from memrefs.
// TWICE: error: smet-build-steps:
// CPU: error: smet-plan-memory: argument #0 needs smet.name, smet.role and a contiguous memref of static size
