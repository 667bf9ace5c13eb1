//===- Passes.td - smet to smet ----------------------------*- tablegen -*-===//
//
// In the order of the pipelines: model to entry points, then entry points to dispatches of kernels on memrefs.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TRANSFORMS_PASSES
#define SMET_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Model to entry points
//===----------------------------------------------------------------------===//

def DifferentiatePass : Pass<"smet-differentiate", "::mlir::ModuleOp"> {
  let summary = "adds to a forward function that returns a loss one that returns loss and gradients";
  let description = [{
    Reverse mode over the single block of `@F`, through `DifferentiableOpInterface`: the new function `@F_grad` returns
    the loss and the gradient of every argument with `smet.role = "param"`, named "W.grad". A value used more than once
    accumulates its gradient by `nn.add` in the reverse order of its uses; a parameter that the loss does not depend on
    has gradient zero.

    Requires: `@F` has one block, works on tensors and returns the loss, a scalar tensor; parameters and what the loss
    depends on have static shapes; there is no `@F_grad`. Errors: an op between a parameter and the loss that has no
    gradient (an op with regions among them), or whose other results (kept for its gradient) the loss depends on; a
    function that `function` names and that is not there. A module without `@forward` is one for inference and stays as
    it is.

    ```mlir
    func.func @forward(%w: tensor<8x4xf32> {smet.name = "w", smet.role = "param"}, %x: tensor<2x4xf32>, ...) -> tensor<f32> {
      %y = nn.linear ins(%x, %w : ...) outs(%e : ...) -> tensor<2x8xf32>
      ...
      return %loss : tensor<f32>
    }
    // gets beside it
    func.func @forward_grad(%w: ..., %x: ..., ...) -> (tensor<f32>, tensor<8x4xf32> {smet.name = "w.grad", ...}) {
      %y = nn.linear ins(%x, %w : ...) outs(%e : ...) -> tensor<2x8xf32>
      ...
      %dloss = nn.fill outs(%e1 : tensor<f32>) {value = 1.0 : f64} -> tensor<f32>
      ...
      %dw = nn.linear_grad_weight ins(%x, %dy : ...) outs(%e2 : ...) -> tensor<8x4xf32>
      return %loss, %dw : tensor<f32>, tensor<8x4xf32>
    }
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"", "the function to differentiate; empty: @forward, where there is one">,
  ];
  let dependentDialects = ["::smet::SmetDialect", "::smet::nn::NNDialect"];
}

def BuildStepsPass : Pass<"smet-build-steps", "::mlir::ModuleOp"> {
  let summary = "forward and gradient functions become the entry points of a program";
  let description = [{
    A module with `@forward` and `@forward_grad` gets, and keeps only,
    - `@init(seed, state...)`: topologies, parameters (`smet.init`), zero moments and ages;
    - `@train_step(parameters, moments, ages, topologies, inputs, lr, step, loss)`: loss, check that it is finite, gradients and
      the optimizer (the module's `smet.adamw`). Each optimizer step stands as early as its gradient and the last read of the
      old weight allow, so that gradients live shortly;
    - `@eval_step(parameters, topologies, inputs, loss)`;
    - `@update_topology(sparse state, topologies, seed, update, prune_rate)`, if the module has `smet.growth`;
    - `@gradients(parameters, topologies, inputs, loss, W.grad...)`, with the option `gradients`.

    In any other module each function is taken as an entry point as it is. Either way, a result is written where the
    argument of its name says: such an argument is appended where it is missing, and is the destination of the op that
    produces the result. Arguments get `bufferization.writable`, true for those that are returned; the module gets the
    manifest's list of sparse layers as `smet.layers`.

    Requires: `smet-differentiate` before, where there is a `@forward`; functions of one block whose arguments and
    results have `smet.name` and `smet.role`. A parameter has `smet.layer` (i64) and `smet.init`, that of a sparse layer
    `smet.topology` as well, the name of an argument of topology type that fits it. Errors: a name that two arguments or
    two results have, a result of another type than the argument of its name, a result that no destination-style op
    computes or that already has a destination.

    ```mlir
    module attributes {smet.adamw = #smet.adamw<>} {
      func.func @forward(%w: ... {smet.name = "w", smet.role = "param", ...}, ...) -> (tensor<f32> {smet.name = "loss", ...})
      func.func @forward_grad(...)
    }
    // becomes
    func.func @train_step(%w: ... {bufferization.writable = true, smet.name = "w", ...}, %m: ... {smet.name = "w.m", ...}, ...) {
      ...
      %loss:2 = nn.linear_cross_entropy ins(...) outs(%loss_argument, ... : ...) -> ...
      smet.check_finite %loss#0 : tensor<f32>
      ...
      %new:3 = smet.dense_adam_step ins(%dw, %lr, %step : ...) outs(%w, %m, %v : ...) {adamw = #smet.adamw<>} -> ...
      return %new#0, %new#1, %new#2, %loss#0 : ...
    }
    ```
  }];
  let options = [
    Option<"gradients", "gradients", "bool", "false", "also keep the gradients as an entry point">,
  ];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::smet::SmetDialect", "::smet::nn::NNDialect"];
}

def FuseOptimizerPass : Pass<"smet-fuse-optimizer", "::mlir::func::FuncOp"> {
  let summary = "smet.sddmm and the smet.adam_step that alone reads it become smet.sddmm_adam";
  let description = [{
    A layer's gradient is then never stored. The fused op stands where the optimizer step stood, behind the reads of the
    old weight. A gradient that accumulates, that another op reads, or whose topology is another value stays. Works on
    tensors; no errors.

    ```mlir
    %g = smet.sddmm ins(%t, %x, %dy : ...) outs(%e : ...) -> tensor<4x16x16xf32>
    %dx = smet.spmm ins(%t, %w, %dy : ...) outs(%e1 : ...) {transpose} -> tensor<64x32xf32>
    %new:4 = smet.adam_step ins(%t, %g, %lr, %step : ...) outs(%w, %m, %v, %age : ...) {adamw = #smet.adamw<>} -> ...
    // becomes
    %dx = smet.spmm ins(%t, %w, %dy : ...) outs(%e1 : ...) {transpose} -> tensor<64x32xf32>
    %new:4 = smet.sddmm_adam ins(%t, %x, %dy, %lr, %step : ...) outs(%w, %m, %v, %age : ...) {adamw = #smet.adamw<>} -> ...
    ```
  }];
  let dependentDialects = ["::smet::SmetDialect"];
}

def FuseLossPass : Pass<"smet-fuse-loss", "::mlir::func::FuncOp"> {
  let summary = "nn.linear_cross_entropy and its gradient become nn.linear_cross_entropy_with_grad";
  let description = [{
    The product with lm_head, a quarter of the two ops' work, is then computed once. The fused op stands where the loss
    stood; a constant `dloss` moves before it. A log-sum-exp that another op reads, or a gradient by something that is
    known later only, stays. Works on tensors; no errors.

    ```mlir
    %loss, %lse = nn.linear_cross_entropy ins(%x, %w, %targets, %n : ...) outs(%e0, %e1 : ...) -> ...
    %dloss = nn.fill outs(%e2 : tensor<f32>) {value = 1.0 : f64} -> tensor<f32>
    %dx, %dw = nn.linear_cross_entropy_grad ins(%x, %w, %targets, %n, %lse, %dloss : ...) outs(%e3, %e4 : ...) -> ...
    // becomes
    %dloss = nn.fill outs(%e2 : tensor<f32>) {value = 1.0 : f64} -> tensor<f32>
    %loss, %dx, %dw = nn.linear_cross_entropy_with_grad ins(%x, %w, %targets, %n, %dloss : ...) outs(%e0, %e3, %e4 : ...)
        -> ...
    ```
  }];
  let dependentDialects = ["::smet::nn::NNDialect", "::mlir::tensor::TensorDialect"];
}

def LowerLinearPass : Pass<"smet-lower-linear", "::mlir::func::FuncOp"> {
  let summary = "smet.linear becomes smet.spmm";
  let description = [{
    The end of what only the model level knows: from here on a masked layer is a sparse product. Attributes stay; no
    errors. With `widen-values`, values stored in bf16 are converted before each product that reads them (`smet.widen`):
    what suits processors that multiply in f32.

    ```mlir
    %y = smet.linear ins(%t, %w, %x : ...) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
    // becomes
    %y = smet.spmm ins(%t, %w, %x : ...) outs(%e : tensor<64x48xf32>) -> tensor<64x48xf32>
    ```
  }];
  let options = [Option<"widenValues", "widen-values", "bool", "true", "convert values stored in bf16">];
  let dependentDialects = ["::smet::SmetDialect"];
}

//===----------------------------------------------------------------------===//
// Entry points to dispatches
//===----------------------------------------------------------------------===//

def PackTokensPass : Pass<"smet-pack-tokens", "::mlir::func::FuncOp"> {
  let summary = "activations [T, F] become packed token tiles [ceil(T / L), F, L]";
  let description = [{
    SIMD lanes become tokens: L = `tile` for T >= `tile`, else `small-tile` (one-token decode). With `whole`, all tiles
    are one, as long as these together: feature-major arrays [1, F, ceil(T / L) L] for a GPU. Which operands are
    activations is known from `KernelOpInterface`; `nn.add` is one where a neighbour is. Arguments with role `state` (KV
    caches) change their type; inputs are packed by `nn.pack`, outputs unpacked by `nn.unpack`. What an op adds to or
    keeps (`accumulate`, a cache that is no state) is packed as well. Packed tiles stay as they are, so that a second
    run changes nothing; a function of several blocks does too.

    Errors: activations of dynamic shape; an activation that an op without `KernelOpInterface` computes or uses (it
    knows [T, F] only: `arith.addf` instead of `nn.add`, or a region that yields one); a tile size that is not from 1 to
    1,024.

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
    Option<"whole", "whole", "bool", "false", "all tokens in one tile, padded to whole ones of these sizes">,
  ];
  let dependentDialects = ["::smet::nn::NNDialect", "::mlir::tensor::TensorDialect"];
}

def OutlineKernelsPass : Pass<"smet-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "every compute op moves into a kernel module; equal kernels become one";
  let description = [{
    The kernel's name carries a SHA-256 of its printed text, so it is stable between runs. nnz is erased from its types
    (`nnz = ?`, `tensor<?xRxC>`): layers that differ in nothing else share a kernel. Discardable attributes
    (`smet.remat` ...) stay on the dispatch. Messages about a kernel point at the first op that became it.

    Outlined is every op with `KernelOpInterface` in the module's functions, on tensors or memrefs, also in regions. No
    errors.

    ```mlir
    %y = smet.spmm ins(%t, %w, %x : !t, ...) outs(%e : tensor<2x688x64xf32>) -> tensor<2x688x64xf32>
    // becomes
    %y = smet.dispatch @k_smet_spmm_5e884898da28::@main ins(%t, %w, %x : !t, ...) outs(%e : tensor<2x688x64xf32>) -> ...
    module @k_smet_spmm_5e884898da28 attributes {sym_visibility = "private"} {
      func.func @main(%t: !smet.topology<..., nnz = ?>, %w: tensor<?x16x16xf32>, ...) -> tensor<2x688x64xf32> {...}
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::smet::SmetDialect"];
}

def ExpandTopologyPass : Pass<"smet-expand-topology", "::mlir::ModuleOp"> {
  let summary = "topologies become their five arrays, topology ops calls of runtime routines";
  let description = [{
    1:N type conversion of functions, dispatches and returns; argument and result attributes move along (`smet.name`
    gets the array's name appended). Kernels rebuild the topology by `smet.topology.pack`. Operands and words of a
    routine are those of `runtime/program/Abi.h`.

    Errors: a routine's array or topology whose size is not known (only kernels take `nnz = ?`); `smet.fill` and
    `smet.init_normal` on types that the runtime cannot fill; another op that carries a topology (a call, a region's
    yield).

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

def OutlineRoutinesPass : Pass<"smet-outline-routines", "::mlir::ModuleOp"> {
  let summary = "topology updates move into kernel modules, for a target that computes them on the device";
  let description = [{
    A run's state is in the memory of a device, and so are its scores: where `smet-expand-topology` left calls of host
    routines that update a topology (`prune`, `grow_random`, `update_topology`, `remap`), each becomes the dispatch of a
    kernel that holds the routine; what initializes state stays a routine of the host. Names and sharing of kernels are
    as in `smet-outline-kernels`; the layer, by which the random numbers of layers differ, is an argument.

    Nothing on the host sees the result of a kernel, so that one cannot fail. A kernel of `prune` says in one more
    output which score is NaN, having pruned nothing, as it does if the rate is bad; the entry point ends with a routine
    that makes an error of it. No errors.

    ```mlir
    %keep = smet.routine "prune" ins(%s, %r : tensor<4xf32>, tensor<f64>) outs(%e : tensor<4xi8>) words [4, 16]
        -> tensor<4xi8>
    return %keep : tensor<4xi8>
    // becomes
    %nan0 = tensor.empty() : tensor<i64>
    %keep, %nan = smet.dispatch @k_prune_5e884898da28::@main ins(%s, %r : ...) outs(%e, %nan0 : ...) ...
    smet.routine "check_prune" ins(%r, %nan : tensor<f64>, tensor<i64>) outs() words []
    return %keep : tensor<4xi8>
    module @k_prune_5e884898da28 attributes {sym_visibility = "private"} {
      func.func @main(%s: tensor<4xf32>, %r: tensor<f64>, %e: tensor<4xi8>, %nan0: tensor<i64>) -> ... {
        %0:2 = smet.routine "prune" ins(%s, %r : ...) outs(%e, %nan0 : ...) words [4, 16] -> tensor<4xi8>, tensor<i64>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::tensor::TensorDialect",
                           "::smet::SmetDialect"];
}

def SchedulePass : Pass<"smet-schedule", "::mlir::func::FuncOp"> {
  let summary = "writes of state move behind every read of its old value";
  let description = [{
    On tensors the old value of a state array is one SSA value, so its reads are its uses. An op that writes a state
    argument (and what depends on it) moves behind the last of them; bufferization then needs no copy. Inside regions
    nothing moves, and neither on memrefs, where what stands behind a write reads the new value.

    Error: a read that itself needs the written value; only a copy of the state could serve it.

    ```mlir
    func.func @f(%w: tensor<8x4xf32>, ...) {
      %new:3 = smet.dense_adam_step ins(%g, %lr, %t : ...) outs(%w, %m, %v : ...) {adamw = #smet.adamw<>} -> ...
      %dx = nn.linear_grad_input ins(%dy, %w : ...) outs(%e : ...) -> tensor<2x4xf32>
    // becomes
      %dx = nn.linear_grad_input ins(%dy, %w : ...) outs(%e : ...) -> tensor<2x4xf32>
      %new:3 = smet.dense_adam_step ins(%g, %lr, %t : ...) outs(%w, %m, %v : ...) {adamw = #smet.adamw<>} -> ...
    ```
  }];
}

def VerifyContractPass : Pass<"smet-verify-contract", "::mlir::func::FuncOp"> {
  let summary = "state is updated in place: drops the results that are arguments, rejects everything else";
  let description = [{
    Runs right after bufferization, on functions of one block. Every result must be the argument of its `smet.name`, or
    a view of it, every argument with `bufferization.writable = true` must be returned (an update that is not is dead
    code), and no copy may have an argument as source or target. Then the results go: who calls finds them in the
    arguments. Each breach is an error that names the tensor. Tensors among the results are one too, since the contract
    would drop them unseen.

    ```mlir
    func.func @step(%w: memref<4xf32> {smet.name = "w", bufferization.writable = true}) -> (memref<4xf32> {smet.name = "w"}) {
      nn.fill outs(%w : memref<4xf32>) {value = 1.0 : f64}
      return %w : memref<4xf32>
    }
    // becomes
    func.func @step(%w: memref<4xf32> {smet.name = "w", bufferization.writable = true}) {
      nn.fill outs(%w : memref<4xf32>) {value = 1.0 : f64}
      return
    }
    ```
  }];
}

#endif // SMET_TRANSFORMS_PASSES
