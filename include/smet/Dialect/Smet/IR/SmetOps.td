//===- SmetOps.td - ops of the smet dialect ----------------*- tablegen -*-===//
//
// Model-level ops (linear), kernels of a step (spmm, sddmm, adam_step, sddmm_adam, score), topology ops, and the ops
// that later stages use (dispatch, routine, topology.pack and unpack, check_finite).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_DIALECT_SMET_SMETOPS
#define SMET_DIALECT_SMET_SMETOPS

include "smet/Dialect/Smet/IR/SmetAttrs.td"
include "smet/Dialect/Smet/IR/SmetTypes.td"
include "smet/Interfaces/KernelOp.td"
include "mlir/IR/SymbolInterfaces.td"

class Smet_KernelOp<string mnemonic, list<string> inputs, list<string> inits, list<int> tokens, list<int> slots,
                    list<Trait> traits = []>
    : KernelOp<Smet_Dialect, mnemonic, inputs, inits, tokens, slots, traits>;
class Smet_Op<string mnemonic, list<Trait> traits = []> : Op<Smet_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Masked linear layers
//===----------------------------------------------------------------------===//

def Smet_LinearOp : Smet_KernelOp<"linear", ["topology", "values", "x"], ["y"], [2, 3], [1], [Differentiable]> {
  let summary = "y = x Wᵀ with a masked weight";
  let description = [{
    W is N x K, given by `topology` and `values` `[nnz, R, C]`; `x` is `[T, K]`, `y` `[T, N]` and overwritten. Model
    level: `smet-lower-linear` turns it into `smet.spmm`, and its gradients are `smet.spmm` with `transpose` and
    `smet.sddmm`.

    ```mlir
    %y = smet.linear ins(%t, %w, %x : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>,
                         tensor<128x64xf32>) outs(%e : tensor<128x32xf32>) -> tensor<128x32xf32>
    ```

    Source: arXiv 2606.00888 (the masked layer).
  }];
  let arguments = (ins Smet_TopologyType:$topology, FloatArray:$values, FloatArray:$x, FloatArray:$y);
}

def Smet_SpmmOp : Smet_KernelOp<"spmm", ["topology", "values", "x"], ["y"], [2, 3], [1]> {
  let summary = "SpMM: y = x Wᵀ, or with `transpose` y = x W";
  let description = [{
    The product of activations and a masked N x K weight, over active blocks only: y[t, n] = sum over k of x[t, k] W[n,
    k]. `x` is `[T, K]` and `y` `[T, N]`. With `transpose` (the gradient of the input) y[t, k] = sum over n of x[t, n]
    W[n, k], `x` is `[T, N]` and `y` `[T, K]`. `accumulate` adds to `y`, otherwise `y` is overwritten; onto zeros it is
    dropped.

    ```mlir
    !t = !smet.topology<32x64, block = [16, 16], nnz = 4>
    %y = smet.spmm ins(%t, %w, %x : !t, tensor<4x16x16xf32>, tensor<128x64xf32>)
                   outs(%e : tensor<128x32xf32>) -> tensor<128x32xf32>
    %dx = smet.spmm ins(%t, %w, %y : !t, tensor<4x16x16xf32>, tensor<128x32xf32>)
                    outs(%sum : tensor<128x64xf32>) {accumulate, transpose} -> tensor<128x64xf32>
    ```

    Source: arXiv 2606.00888.
  }];
  let arguments = (ins Smet_TopologyType:$topology, FloatArray:$values, FloatArray:$x, FloatArray:$y,
                       UnitAttr:$transpose, UnitAttr:$accumulate);
  let hasCanonicalizeMethod = 1;
}

def Smet_SddmmOp : Smet_KernelOp<"sddmm", ["topology", "x", "dy"], ["dvalues"], [1, 2], [3]> {
  let summary = "SDDMM: dW = dyᵀ x at the active slots only";
  let description = [{
    The gradient of a masked weight, sampled: dvalues[s, r, c] = sum over t of dy[t, i R + r] x[t, j C + c], where slot
    s is block (i, j). `x` is `[T, K]`, `dy` `[T, N]`, `dvalues` `[nnz, R, C]`. `accumulate` adds to `dvalues`,
    otherwise it is overwritten; onto zeros it is dropped.

    ```mlir
    !t = !smet.topology<32x64, block = [16, 16], nnz = 4>
    %dw = smet.sddmm ins(%t, %x, %dy : !t, tensor<128x64xf32>, tensor<128x32xf32>)
                     outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    ```

    Source: arXiv 2606.00888.
  }];
  let arguments = (ins Smet_TopologyType:$topology, FloatArray:$x, FloatArray:$dy, FloatArray:$dvalues,
                       UnitAttr:$accumulate);
  let hasCanonicalizeMethod = 1;
}

def Smet_WidenOp : Smet_KernelOp<"widen", ["values"], ["wide"], [], [0, 1]> {
  let summary = "values stored in bf16 as f32";
  let description = [{
    A product reads each weight once for every few tokens: where values are stored in bf16, `smet-lower-linear` has them
    converted once before it, into scratch of the active weights. `values` and `wide` are `[nnz, R, C]`.

    ```mlir
    %wide = smet.widen ins(%w : tensor<4x16x16xbf16>) outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    ```

    Source: docs/Rationale/Numerics.md.
  }];
  let arguments = (ins FloatArray:$values, FloatArray:$wide);
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

def Smet_AdamStepOp : Smet_KernelOp<"adam_step", ["topology", "grad", "lr", "step"], ["values", "m", "v", "age"],
                                    [], [1, 4, 5, 6, 7]> {
  let summary = "AdamW on the active blocks of a layer, with age, warm-up and density-aware learning rate";
  let description = [{
    Per block, with a = age + 1 and t = `step` (i64 scalar, from 1), lr = `lr` (scalar), and the hyperparameters of
    `adamw`:

        m = b1 m + (1 - b1) g                      v = b2 v + (1 - b2) g^2
        mhat = m / (1 - b1^a)                      vhat = v / (1 - b2^a)
        lr_b = lr / sqrt(d) * (a == t ? 1 : min(a / warmup_updates, 1))
        w   -= lr_b * (mhat / (sqrt(vhat) + eps) + weight_decay * w)

    d is nnz / blocks of the topology (1 without `lr_scaling`). `grad`, `values`, `m`, `v` are `[nnz, R, C]`. `age`
    `[nnz]` (i16, unsigned) becomes a, saturating at 65,535. Powers of b are computed in double. The four inits are
    updated in place.

    ```mlir
    %new:4 = smet.adam_step
        ins(%t, %dw, %lr, %step : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>, tensor<f32>,
            tensor<i64>)
        outs(%w, %m, %v, %age : tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>)
        {adamw = #smet.adamw<warmup_updates = 10>}
        -> tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>
    ```

    Source: arXiv 2606.00888 (age, warm-up, learning rate), 1412.6980 (Adam), 1711.05101 (decoupled decay).
  }];
  let arguments = (ins Smet_TopologyType:$topology, FloatArray:$grad, FloatArray:$lr, I64Array:$step,
                       FloatArray:$values, FloatArray:$m, FloatArray:$v, I16Array:$age, Smet_AdamWAttr:$adamw);
}

def Smet_DenseAdamStepOp : Smet_KernelOp<"dense_adam_step", ["grad", "lr", "step"], ["w", "m", "v"], [], []> {
  let summary = "AdamW on a dense parameter: the bias correction counts `step`, no warm-up, lr as given";
  let description = [{
    `smet.adam_step` with a = t = `step` for every element and d = 1, so that neither age nor warm-up nor scaling plays
    a part. `grad`, `w`, `m`, `v` have one shape; `lr` and `step` (i64, from 1) are scalars. The three inits are updated
    in place.

    ```mlir
    %new:3 = smet.dense_adam_step
        ins(%dw, %lr, %step : tensor<64x32xf32>, tensor<f32>, tensor<i64>)
        outs(%w, %m, %v : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>)
        {adamw = #smet.adamw<weight_decay = 0.1>} -> tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
    ```

    Source: arXiv 1412.6980, 1711.05101.
  }];
  let arguments = (ins FloatArray:$grad, FloatArray:$lr, I64Array:$step, FloatArray:$w, FloatArray:$m, FloatArray:$v,
                       Smet_AdamWAttr:$adamw);
}

def Smet_SddmmAdamOp : Smet_KernelOp<"sddmm_adam", ["topology", "x", "dy", "lr", "step"], ["values", "m", "v", "age"],
                                     [1, 2], [5, 6, 7, 8]> {
  let summary = "smet.sddmm followed by smet.adam_step, block by block: the gradient is never stored";
  let description = [{
    `x` is `[T, K]`, `dy` `[T, N]`; the rest as in `smet.adam_step`. `smet-fuse-optimizer` makes it of a gradient with
    one use.

    ```mlir
    %new:4 = smet.sddmm_adam
        ins(%t, %x, %dy, %lr, %step : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<128x64xf32>,
            tensor<128x32xf32>, tensor<f32>, tensor<i64>)
        outs(%w, %m, %v, %age : tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>)
        {adamw = #smet.adamw<>} -> tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4xi16>
    ```
  }];
  let arguments = (ins Smet_TopologyType:$topology, FloatArray:$x, FloatArray:$dy, FloatArray:$lr, I64Array:$step,
                       FloatArray:$values, FloatArray:$m, FloatArray:$v, I16Array:$age, Smet_AdamWAttr:$adamw);
}

//===----------------------------------------------------------------------===//
// Topology: a kernel for the score, routines for the rest (their results are in place), which are kernels on a device
//===----------------------------------------------------------------------===//

def Smet_ScoreOp : Smet_KernelOp<"score", ["values"], ["score"], [], [0, 1]> {
  let summary = "magnitude of every block: score[s] = sum of |values[s]|";
  let description = [{
    What `smet.prune` ranks. `values` is `[nnz, R, C]`, `score` `[nnz]` and overwritten.

    ```mlir
    %score = smet.score ins(%w : tensor<4x16x16xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    ```

    Source: arXiv 2606.00888.
  }];
  let arguments = (ins FloatArray:$values, FloatArray:$score);
}

def Smet_TopologyInitOp : Smet_Op<"topology.init", [AllTypesMatch<["dest", "result"]>]> {
  let summary = "draws an initial topology";
  let description = [{
    Exactly nnz blocks of `dest`'s type, uniformly: those with the smallest Philox keys of (`seed`, `layer`, 0, block).
    `dest` says where the arrays go. Which layer has which nnz (uniform or Erdos-Renyi distribution) is in the types.
    `seed` is a scalar.

    ```mlir
    %t1 = smet.topology.init %seed into %t0 {layer = 3}
        : tensor<i64>, !smet.topology<32x64, block = [16, 16], nnz = 4>
    ```

    Source: arXiv 2606.00888.
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$seed, Smet_TopologyType:$dest, I64Attr:$layer);
  let results = (outs Smet_TopologyType:$result);
  let assemblyFormat = "$seed `into` $dest attr-dict `:` type($seed) `,` qualified(type($result))";
  let hasVerifier = 1;
}

def Smet_InitNormalOp : Smet_Op<"init_normal", [AllTypesMatch<["dest", "result"]>]> {
  let summary = "fills a parameter with N(0, std^2)";
  let description = [{
    Every element is keyed by (`seed`, `layer`, its index in the dense matrix), so that a sparse layer starts as a
    subset of the dense one. `topology` is present for sparse layers, whose `dest` is `[nnz, R, C]`; `seed` is a scalar.

    ```mlir
    %embedding = smet.init_normal %seed into %e0 {layer = 0, std = 0.02} : tensor<i64>, tensor<1024x64xf32>
    %w = smet.init_normal %seed at %t : !smet.topology<32x64, block = [16, 16], nnz = 4> into %w0
        {layer = 3, std = 0.02} : tensor<i64>, tensor<4x16x16xf32>
    ```

    Source: runtime/cpu/Normal.h (Box and Muller on the numbers of Philox).
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$seed, Optional<Smet_TopologyType>:$topology, AnyRankedTensor:$dest,
                       I64Attr:$layer, F64Attr:$std);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $seed (`at` $topology^ `:` qualified(type($topology)))? `into` $dest attr-dict `:` type($seed) `,` type($result)
  }];
  let hasVerifier = 1;
}

def Smet_FillOp : Smet_Op<"fill", [AllTypesMatch<["dest", "result"]>]> {
  let summary = "fills an array with a constant (zero moments and ages, unit norms)";
  let description = [{
    In place, by a host routine, in an entry point that sets up state; `nn.fill` is the kernel of the steps.

    ```mlir
    %age = smet.fill into %age0 {value = 0.0 : f64} : tensor<4xi16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$dest, F64Attr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`into` $dest attr-dict `:` type($result)";
}

def Smet_PruneOp : Smet_Op<"prune"> {
  let summary = "marks the k slots with the smallest score";
  let description = [{
    k = min(floor(`rate` * nnz), inactive blocks). `score` is `[nnz]`, `rate` a scalar in [0, 1]. `keep` `[nnz]` has 0
    at pruned slots and 1 elsewhere; ties go to the lower slot. A NaN score is an error that stops the run.

    ```mlir
    %keep = smet.prune %t, %score, %rate
        : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xf32>, tensor<f64> -> tensor<4xi8>
    ```

    Source: arXiv 2606.00888.
  }];
  let arguments = (ins Smet_TopologyType:$topology, RankedTensorOf<[F32]>:$score, RankedTensorOf<[F64]>:$rate);
  let results = (outs RankedTensorOf<[I8]>:$keep);
  let assemblyFormat = [{
    $topology `,` $score `,` $rate attr-dict
    `:` qualified(type($topology)) `,` type($score) `,` type($rate) `->` type($keep)
  }];
  let hasVerifier = 1;
}

def Smet_GrowOp : Smet_Op<"grow"> {
  let summary = "chooses as many inactive blocks as were pruned";
  let description = [{
    `#smet.growth<random>`: every block has a Philox key of (`seed`, `layer`, `update`, block), the smallest keys among
    the blocks that were inactive before the update win (with `regrow_pruned`: also those just pruned), so one block
    more or less elsewhere changes nothing else. `keep` is `smet.prune`'s `[nnz]`, `seed` and `update` are scalars.
    `grown` `[nnz]` lists the linear block indices (row-major) in ascending order, then -1.

    ```mlir
    %grown = smet.grow <random> %t, %keep, %seed, %update {layer = 3}
        : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<i64>, tensor<i64> -> tensor<4xi32>
    ```

    Source: arXiv 2606.00888.
  }];
  let arguments = (ins Smet_GrowthAttr:$growth, Smet_TopologyType:$topology, RankedTensorOf<[I8]>:$keep,
                       RankedTensorOf<[I64]>:$seed, RankedTensorOf<[I64]>:$update, I64Attr:$layer,
                       UnitAttr:$regrow_pruned);
  let results = (outs RankedTensorOf<[I32]>:$grown);
  let assemblyFormat = [{
    $growth $topology `,` $keep `,` $seed `,` $update attr-dict
    `:` qualified(type($topology)) `,` type($keep) `,` type($seed) `,` type($update) `->` type($grown)
  }];
  let hasVerifier = 1;
}

def Smet_UpdateTopologyOp : Smet_Op<"update_topology", [AllTypesMatch<["topology", "result"]>]> {
  let summary = "kept and grown blocks become the new topology";
  let description = [{
    `keep` and `grown` `[nnz]` are those of `smet.prune` and `smet.grow`. `slot_map[new slot]` is the old slot, or -1
    where a block was regrown; kept blocks stay in order. The topology's arrays are updated in place.

    ```mlir
    %new, %slot_map = smet.update_topology %t, %keep, %grown
        : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4xi8>, tensor<4xi32> -> tensor<4xi32>
    ```

    Source: arXiv 2606.00888.
  }];
  let arguments = (ins Smet_TopologyType:$topology, RankedTensorOf<[I8]>:$keep, RankedTensorOf<[I32]>:$grown);
  let results = (outs Smet_TopologyType:$result, RankedTensorOf<[I32]>:$slot_map);
  let assemblyFormat = [{
    $topology `,` $keep `,` $grown attr-dict
    `:` qualified(type($topology)) `,` type($keep) `,` type($grown) `->` type($slot_map)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$topology, "::mlir::Value":$keep, "::mlir::Value":$grown)>];
  let hasVerifier = 1;
}

def Smet_RemapOp : Smet_Op<"remap", [AllTypesMatch<["array", "result"]>]> {
  let summary = "carries an array of slots through a slot map, in place; regrown slots become zero";
  let description = [{
    `array` is `[nnz, ...]` (values, moments, age), `slot_map` that of `smet.update_topology`. An identity map folds
    away.

    ```mlir
    %m1 = smet.remap %slot_map, %m : tensor<4xi32>, tensor<4x16x16xf32>
    ```

    Source: arXiv 2606.00888 (regrown blocks start with w = m = v = 0 and age 0).
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$slot_map, AnyRankedTensor:$array);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$slot_map `,` $array attr-dict `:` type($slot_map) `,` type($array)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Export, import, tests: the only ops with an N x K operand
//===----------------------------------------------------------------------===//

def Smet_ToDenseOp : Smet_KernelOp<"to_dense", ["topology", "values"], ["dense"], [], [1]> {
  let summary = "the N x K matrix, zero where inactive";
  let description = [{
    `values` is `[nnz, R, C]`; `dense` `[N, K]` is overwritten.

    ```mlir
    %w = smet.to_dense ins(%t, %values : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<4x16x16xf32>)
                       outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
    ```
  }];
  let arguments = (ins Smet_TopologyType:$topology, FloatArray:$values, FloatArray:$dense);
}

def Smet_FromDenseOp : Smet_KernelOp<"from_dense", ["topology", "dense"], ["values"], [], [2]> {
  let summary = "values of the active blocks of an N x K matrix";
  let description = [{
    `dense` is `[N, K]`; `values` `[nnz, R, C]` is overwritten. The inverse of `smet.to_dense`.

    ```mlir
    %values = smet.from_dense ins(%t, %w : !smet.topology<32x64, block = [16, 16], nnz = 4>, tensor<32x64xf32>)
                              outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    ```
  }];
  let arguments = (ins Smet_TopologyType:$topology, FloatArray:$dense, FloatArray:$values);
  let hasCanonicalizeMethod = 1;
}

def Smet_FromMaskOp : Smet_Op<"from_mask", [AllTypesMatch<["dest", "result"]>]> {
  let summary = "the topology of an N x K mask";
  let description = [{
    A block is active where any element of `mask` is not zero. `dest` says where the arrays go, and its type how many
    blocks are active: a mask with another number of them is an error that stops the run. With `smet.from_dense` it
    imports a pruned matrix.

    ```mlir
    !t = !smet.topology<32x64, block = [16, 16], nnz = 4>
    %t1 = smet.from_mask %mask into %t0 : tensor<32x64xi8>, !t
    %values = smet.from_dense ins(%t1, %w : !t, tensor<32x64xf32>) outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I8]>:$mask, Smet_TopologyType:$dest);
  let results = (outs Smet_TopologyType:$result);
  let assemblyFormat = "$mask `into` $dest attr-dict `:` type($mask) `,` qualified(type($result))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Later stages
//===----------------------------------------------------------------------===//

def AnyArray : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

class Smet_CallLikeOp<string mnemonic, list<Trait> traits = []>
    : Smet_Op<mnemonic, traits # [AttrSizedOperandSegments, DestinationStyleOpInterface,
                                  DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
  }];
  let extraClassDefinition = [{
    void $cppClass::getEffects(::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance> &effects) {
      ::smet::addDestinationStyleEffects(*this, effects);
    }
  }];
}

def Smet_DispatchOp : Smet_CallLikeOp<"dispatch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of an outlined kernel, destination style";
  let description = [{
    `smet-outline-kernels` moves every kernel op into a function of its own; this is the call. Operands are whole
    arrays, or i64 constants of the program; the kernel's types may have `?` where the operand's size is known. It
    bufferizes in place on its inits, where a plain call of a function without a body would copy them. `work` says what the kernel computes and how much
    it has to do; it ends up in the program's manifest, for profiles.

    ```mlir
    module @score {
      func.func @main(%values: tensor<?x16x16xf32>, %score: tensor<?xf32>) -> tensor<?xf32> {
        %0 = smet.score ins(%values : tensor<?x16x16xf32>) outs(%score : tensor<?xf32>) -> tensor<?xf32>
        return %0 : tensor<?xf32>
      }
    }
    func.func @caller(%values: tensor<4x16x16xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
      %0 = smet.dispatch @score::@main ins(%values : tensor<4x16x16xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```

    Source: docs/Rationale/Pipeline.md.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<AnyType>:$inputs, Variadic<AnyArray>:$inits,
                       OptionalAttr<Smet_WorkAttr>:$work);
  let assemblyFormat = [{
    $kernel `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($inits^ `:` type($inits))? `)` attr-dict
    (`->` type($results)^)?
  }];
}

def Smet_RoutineOp : Smet_CallLikeOp<"routine"> {
  let summary = "call of a host routine of the runtime (runtime/program/Abi.h), destination style";
  let description = [{
    `smet-expand-topology` makes it of the topology ops, on the topology's arrays. `name` is the routine's, operands and
    `words` are its table in Abi.h's order. In a kernel module it is what `smet-outline-routines` left to the device: a
    word that is data is an input of type i64 then, behind the others.

    ```mlir
    %keep = smet.routine "prune" ins(%score, %rate : tensor<4xf32>, tensor<f64>) outs(%e : tensor<4xi8>) words [4, 8]
        -> tensor<4xi8>
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyTypeOf<[AnyArray, I64]>>:$inputs, Variadic<AnyArray>:$inits, DenseI64ArrayAttr:$words);
  let assemblyFormat = [{
    $name `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($inits^ `:` type($inits))? `)` `words` $words
    attr-dict (`->` type($results)^)?
  }];
}

def Smet_GemmOp : Smet_Op<"gemm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "dense C = alpha op(A) op(B) + beta C by the runtime's GEMM provider, on the calling thread";
  let description = [{
    Inside kernels. `a`, `b`, `c` are row-major f32 memrefs of rank 2 with unit inner stride; their sizes and strides
    give m, n, k and the leading dimensions. op(A) is m x k, op(B) k x n; `a` is stored k x m with `transpose_a`, `b` n
    x k with `transpose_b`. With `beta` = 0 the old C is not read.

    ```mlir
    smet.gemm %a, %b into %c {alpha = 1.0 : f32, beta = 0.0 : f32, transpose_b}
        : memref<128x64xf32>, memref<32x64xf32>, memref<128x32xf32>
    ```

    Source: sgemm of the BLAS, row-major.
  }];
  let arguments = (ins MemRefRankOf<[F32], [2]>:$a, MemRefRankOf<[F32], [2]>:$b, MemRefRankOf<[F32], [2]>:$c,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b, F32Attr:$alpha, F32Attr:$beta);
  let assemblyFormat = "$a `,` $b `into` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
}

def Smet_CheckFiniteOp : Smet_Op<"check_finite", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ends the entry point with SMET_LOSS_NOT_FINITE if a scalar is NaN or infinite";
  let description = [{
    Stands behind the loss and before everything that writes state, so that a run stops with its state intact.

    ```mlir
    smet.check_finite %loss : tensor<f32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[RankedTensorOf<[F32, F64]>, MemRefOf<[F32, F64]>]>:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Smet_TopologyPackOp : Smet_Op<"topology.pack", [Pure]> {
  let summary = "a topology of its five arrays";
  let description = [{
    `smet-expand-topology` leaves it where arrays meet an op that takes a topology. `arrays` are positions, coordinates,
    t_positions, t_coordinates and t_perm, in the types that the topology's type says.

    ```mlir
    %t = smet.topology.pack %positions, %coordinates, %t_positions, %t_coordinates, %t_perm
        : tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>
        -> !smet.topology<32x64, block = [16, 16], nnz = 4>
    ```

    Source: docs/Rationale/Dialects.md (why a topology is one value).
  }];
  let arguments = (ins Variadic<AnyArray>:$arrays);
  let results = (outs Smet_TopologyType:$topology);
  let assemblyFormat = "$arrays attr-dict `:` type($arrays) `->` qualified(type($topology))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Smet_TopologyUnpackOp : Smet_Op<"topology.unpack", [Pure]> {
  let summary = "the five arrays of a topology";
  let description = [{
    The inverse of `smet.topology.pack`, where a topology meets an op that takes its arrays.

    ```mlir
    %arrays:5 = smet.topology.unpack %t : !smet.topology<32x64, block = [16, 16], nnz = 4>
        -> tensor<3xi32>, tensor<4xi16>, tensor<5xi32>, tensor<4xi16>, tensor<4xi32>
    ```
  }];
  let arguments = (ins Smet_TopologyType:$topology);
  let results = (outs Variadic<AnyRankedTensor>:$arrays);
  let assemblyFormat = "$topology attr-dict `:` qualified(type($topology)) `->` type($arrays)";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

#endif // SMET_DIALECT_SMET_SMETOPS
