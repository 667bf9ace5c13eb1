//===- NNBase.td - the nn dialect --------------------------*- tablegen -*-===//
#ifndef SMET_DIALECT_NN_NNBASE
#define SMET_DIALECT_NN_NNBASE

include "mlir/IR/OpBase.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::smet::nn";
  let summary = "dense ops of transformer layers";
  let description = [{
    The dense part of a LLaMA layer, each op with the ops of its gradient. Letters in shapes: T tokens (all sequences of
    the batch one after the other), F, K, N features, V vocabulary, H heads, D head size.

    Activations are `[T, F]` tensors; on the CPU road `smet-pack-tokens` turns them into packed token tiles
    `[ceil(T / L), F, L]`, so that SIMD lanes are tokens. Every op accepts both layouts. Vectors with one entry per
    token (token ids, targets, log-sum-exp) stay `[T]`. A scalar is an array of rank 0.

    Every op is destination style: it overwrites its outs (`nn.cached_attention` updates its caches), on tensors with
    results, on memrefs without. The float arrays of an op have one element type, f32 or f64; bf16
    may stand wherever f32 may: it is a form of storage, everything is computed in f32.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

#endif // SMET_DIALECT_NN_NNBASE
