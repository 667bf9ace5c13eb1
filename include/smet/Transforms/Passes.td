//===- Passes.td - smet to smet ----------------------------*- tablegen -*-===//
//
// In the order of the pipelines: model to entry points, then entry points to dispatches of kernels on memrefs.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TRANSFORMS_PASSES
#define SMET_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Entry points to dispatches
//===----------------------------------------------------------------------===//

def PackTokensPass : Pass<"smet-pack-tokens", "::mlir::func::FuncOp"> {
  let summary = "activations [T, F] become packed token tiles [ceil(T / L), F, L]";
  let description = [{
    SIMD lanes become tokens: L = `tile` for T >= `tile`, else `small-tile` (one-token decode). Which operands are activations
    is known from `KernelOpInterface`; `nn.add` is one where a neighbour is. Arguments with role `state` (KV caches) change their
    type; inputs are packed by `nn.pack`, outputs unpacked by `nn.unpack`.

    ```mlir
    %e = tensor.empty() : tensor<128x688xf32>
    %y = nn.silu_mul ins(%g, %u : tensor<128x688xf32>, tensor<128x688xf32>) outs(%e : tensor<128x688xf32>) -> tensor<128x688xf32>
    // becomes
    %e = tensor.empty() : tensor<2x688x64xf32>
    %y = nn.silu_mul ins(%g, %u : tensor<2x688x64xf32>, tensor<2x688x64xf32>) outs(%e : tensor<2x688x64xf32>) -> tensor<2x688x64xf32>
    ```
  }];
  let options = [
    Option<"tile", "tile", "int64_t", "64", "tokens in a tile">,
    Option<"smallTile", "small-tile", "int64_t", "16", "tokens in a tile of an activation with fewer than `tile` tokens">,
  ];
  let dependentDialects = ["::smet::nn::NNDialect", "::mlir::tensor::TensorDialect"];
}

def OutlineKernelsPass : Pass<"smet-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "every compute op moves into a kernel module; equal kernels become one";
  let description = [{
    The kernel's name carries a SHA-256 of its printed text, so it is stable between runs. nnz is erased from its types (`nnz = ?`,
    `tensor<?xRxC>`): layers that differ in nothing else share a kernel. Discardable attributes (`smet.remat` ...) stay on the
    dispatch.

    ```mlir
    %y = smet.spmm ins(%t, %w, %x : !t, ...) outs(%e : tensor<2x688x64xf32>) -> tensor<2x688x64xf32>
    // becomes
    %y = smet.dispatch @k_smet_spmm_5e884898da28::@main ins(%t, %w, %x : !t, ...) outs(%e : tensor<2x688x64xf32>) -> ...
    module private @k_smet_spmm_5e884898da28 { func.func @main(%t: !smet.topology<..., nnz = ?>, ...) {...} }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def ExpandTopologyPass : Pass<"smet-expand-topology", "::mlir::ModuleOp"> {
  let summary = "topologies become their five arrays, topology ops calls of runtime routines";
  let description = [{
    1:N type conversion of functions, dispatches and returns; argument and result attributes move along (`smet.name` gets the
    array's name appended). Kernels rebuild the topology by `smet.topology.pack`.

    ```mlir
    func.func @f(%t: !t {smet.name = "w.topology"}, %s: tensor<4xf32>, %r: tensor<f64>)
    %keep = smet.prune %t, %s, %r : !t, tensor<4xf32>, tensor<f64> -> tensor<4xi8>
    // becomes
    func.func @f(%p: tensor<5xi32> {smet.name = "w.topology.positions"}, ...)
    %keep = smet.routine "prune" ins(%s, %r : ...) outs(%e : tensor<4xi8>) words [4, 16] -> tensor<4xi8>
    ```
  }];
  let dependentDialects = ["::smet::SmetDialect", "::mlir::tensor::TensorDialect"];
}

def SchedulePass : Pass<"smet-schedule", "::mlir::func::FuncOp"> {
  let summary = "writes of state move behind every read of its old value";
  let description = [{
    On tensors the old value of a state array is one SSA value, so its reads are its uses. An op that writes a state argument
    (and what depends on it) moves behind the last of them; bufferization then needs no copy. A read that itself needs the
    written value cannot be served and is an error.
  }];
}

def VerifyContractPass : Pass<"smet-verify-contract", "::mlir::func::FuncOp"> {
  let summary = "state is updated in place: drops the results that are arguments, rejects everything else";
  let description = [{
    After bufferization every memref result must be the argument of its `smet.name`, every argument with `bufferization.writable
    = true` must be returned (an update that is not is dead code), and no copy may have a state argument as source or
    target. Then the results go.
  }];
}

#endif // SMET_TRANSFORMS_PASSES
