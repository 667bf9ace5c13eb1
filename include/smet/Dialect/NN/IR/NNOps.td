//===- NNOps.td - dense ops of transformer layers ----------*- tablegen -*-===//
//
// Every op is destination style on tensors or memrefs (see KernelOp.td) and overwrites its outs; only the caches of
// nn.cached_attention are updated.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_DIALECT_NN_NNOPS
#define SMET_DIALECT_NN_NNOPS

include "smet/Dialect/NN/IR/NNBase.td"
include "smet/Interfaces/KernelOp.td"

class NN_Op<string mnemonic, list<string> inputs, list<string> inits, list<int> tokens, list<Trait> traits = []>
    : KernelOp<NN_Dialect, mnemonic, inputs, inits, tokens, [], traits>;

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

def NN_EmbeddingOp : NN_Op<"embedding", ["table", "ids"], ["x"], [2], [Differentiable]> {
  let summary = "x[t] = table[ids[t]]";
  let description = [{
    `table` is `[V, F]`, `ids` i32 `[T]` in [0, V), `x` `[T, F]`.

    ```mlir
    %x = nn.embedding ins(%table, %ids : tensor<1024x64xf32>, tensor<128xi32>) outs(%e : tensor<128x64xf32>)
        -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins FloatArray:$table, I32Array:$ids, FloatArray:$x);
}

def NN_EmbeddingGradOp : NN_Op<"embedding_grad", ["dx", "ids"], ["dtable"], [0]> {
  let summary = "dtable[v] = sum of dx[t] over the tokens t with ids[t] == v, in the order of t";
  let description = [{
    The order makes the sum the same for any number of threads. `dx` is `[T, F]`, `ids` i32 `[T]`, `dtable` `[V, F]`;
    rows of tokens that do not occur are zero.

    ```mlir
    %dtable = nn.embedding_grad ins(%dx, %ids : tensor<128x64xf32>, tensor<128xi32>) outs(%e : tensor<1024x64xf32>)
        -> tensor<1024x64xf32>
    ```

    Source: the derivative of nn.embedding.
  }];
  let arguments = (ins FloatArray:$dx, I32Array:$ids, FloatArray:$dtable);
}

//===----------------------------------------------------------------------===//
// Norm, rotary embedding, activation, residual
//===----------------------------------------------------------------------===//

def NN_RMSNormOp : NN_Op<"rms_norm", ["x", "gamma"], ["y"], [0, 2], [Differentiable]> {
  let summary = "y[t] = gamma * x[t] / sqrt(mean(x[t]^2) + eps)";
  let description = [{
    Root mean square normalisation over features. `x`, `y` are `[T, F]`, `gamma` `[F]`.

    ```mlir
    %y = nn.rms_norm ins(%x, %gamma : tensor<128x64xf32>, tensor<64xf32>) outs(%e : tensor<128x64xf32>)
        {eps = 1.0e-6 : f64} -> tensor<128x64xf32>
    ```

    Source: Zhang and Sennrich, arXiv 1910.07467, equation 4.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$gamma, FloatArray:$y, F64Attr:$eps);
}

def NN_RMSNormGradOp : NN_Op<"rms_norm_grad", ["x", "gamma", "dy"], ["dx", "dgamma"], [0, 2, 3]> {
  let summary = "gradient of nn.rms_norm";
  let description = [{
    With r = 1 / sqrt(mean(x^2) + eps) per token and g = gamma * dy: dx = r g - x r^3 mean(x g), and dgamma = sum over t
    of dy x r, summed in a fixed order of tokens. `x`, `dy`, `dx` are `[T, F]`, `gamma`, `dgamma` `[F]`.

    ```mlir
    %dx, %dgamma = nn.rms_norm_grad ins(%x, %gamma, %dy : tensor<128x64xf32>, tensor<64xf32>, tensor<128x64xf32>)
        outs(%e0, %e1 : tensor<128x64xf32>, tensor<64xf32>) {eps = 1.0e-6 : f64} -> tensor<128x64xf32>, tensor<64xf32>
    ```

    Source: the derivative of nn.rms_norm.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$gamma, FloatArray:$dy, FloatArray:$dx, FloatArray:$dgamma,
                       F64Attr:$eps);
}

def NN_RopeOp : NN_Op<"rope", ["x"], ["y"], [0, 1], [Differentiable]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates features i and i + D/2 of every head (the Hugging Face LLaMA convention) by the angle p * theta^(-2 i / D),
    where p is the token's position, `t mod seq_len`, and D is `head_dim`. With `inverse` it rotates back, which is the
    gradient; the two in a row fold away. `x`, `y` are `[T, H * D]`; tables of sine and cosine are computed in double.

    ```mlir
    %y = nn.rope ins(%x : tensor<128x64xf32>) outs(%e0 : tensor<128x64xf32>)
        {head_dim = 16 : i64, seq_len = 64 : i64, theta = 1.0e4 : f64} -> tensor<128x64xf32>
    %dx = nn.rope ins(%dy : tensor<128x64xf32>) outs(%e1 : tensor<128x64xf32>)
        {head_dim = 16 : i64, inverse, seq_len = 64 : i64, theta = 1.0e4 : f64} -> tensor<128x64xf32>
    ```

    Source: Su et al., arXiv 2104.09864, section 3.2.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$y, I64Attr:$head_dim, I64Attr:$seq_len, F64Attr:$theta,
                       UnitAttr:$inverse);
  let hasCanonicalizeMethod = 1;
}

def NN_RopeAtOp : NN_Op<"rope_at", ["x", "position"], ["y"], [0, 2]> {
  let summary = "rotary position embedding of one token at a position given at run time";
  let description = [{
    As `nn.rope` for `x` and `y` of shape `[1, H * D]`; `position` is an i32 scalar in [0, `seq_len`).

    ```mlir
    %y = nn.rope_at ins(%x, %position : tensor<1x64xf32>, tensor<i32>) outs(%e : tensor<1x64xf32>)
        {head_dim = 16 : i64, seq_len = 64 : i64, theta = 1.0e4 : f64} -> tensor<1x64xf32>
    ```

    Source: Su et al., arXiv 2104.09864.
  }];
  let arguments = (ins FloatArray:$x, I32Array:$position, FloatArray:$y, I64Attr:$head_dim, I64Attr:$seq_len,
                       F64Attr:$theta);
}

def NN_SiluMulOp : NN_Op<"silu_mul", ["gate", "up"], ["y"], [0, 1, 2], [Differentiable]> {
  let summary = "y = gate * sigmoid(gate) * up, elementwise";
  let description = [{
    The gated activation between the two linear layers of a LLaMA MLP. All arrays are `[T, F]`.

    ```mlir
    %y = nn.silu_mul ins(%gate, %up : tensor<128x64xf32>, tensor<128x64xf32>) outs(%e : tensor<128x64xf32>)
        -> tensor<128x64xf32>
    ```

    Source: Shazeer, arXiv 2002.05202 (SwiGLU).
  }];
  let arguments = (ins FloatArray:$gate, FloatArray:$up, FloatArray:$y);
}

def NN_SiluMulGradOp : NN_Op<"silu_mul_grad", ["gate", "up", "dy"], ["dgate", "dup"], [0, 1, 2, 3, 4]> {
  let summary = "gradient of nn.silu_mul";
  let description = [{
    With s = sigmoid(gate): dup = dy gate s, dgate = dy up s (1 + gate (1 - s)). All arrays are `[T, F]`.

    ```mlir
    %dgate, %dup = nn.silu_mul_grad
        ins(%gate, %up, %dy : tensor<128x64xf32>, tensor<128x64xf32>, tensor<128x64xf32>)
        outs(%e0, %e1 : tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>, tensor<128x64xf32>
    ```

    Source: the derivative of nn.silu_mul.
  }];
  let arguments = (ins FloatArray:$gate, FloatArray:$up, FloatArray:$dy, FloatArray:$dgate, FloatArray:$dup);
}

def NN_AddOp : NN_Op<"add", ["a", "b"], ["c"], [0, 1, 2], [Differentiable]> {
  let summary = "c = a + b, elementwise: residuals and gradients of values used more than once";
  let description = [{
    All shapes are equal. Activations are packed only where a producer or consumer is. The sign of a zero sum is not
    defined: adding zeros folds away.

    ```mlir
    %c = nn.add ins(%a, %b : tensor<128x64xf32>, tensor<128x64xf32>) outs(%e : tensor<128x64xf32>) -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins FloatArray:$a, FloatArray:$b, FloatArray:$c);
  let hasCanonicalizeMethod = 1;
}

def NN_FillOp : NN_Op<"fill", [], ["x"], []> {
  let summary = "sets every element to a constant";
  let description = [{
    `x` has any shape.

    ```mlir
    %dloss = nn.fill outs(%e : tensor<f32>) {value = 1.0 : f64} -> tensor<f32>
    ```
  }];
  let arguments = (ins FloatArray:$x, F64Attr:$value);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def NN_AttentionOp : NN_Op<"attention", ["q", "k", "v"], ["o", "lse"], [0, 1, 2, 3], [Differentiable]> {
  let summary = "causal grouped-query attention";
  let description = [{
    For every sequence (`seq_len` consecutive tokens) and head: o[t] = sum over s <= t of softmax(q[t] . k[s] / sqrt(D))
    v[s]. `q`, `o` are `[T, num_heads * D]`, `k`, `v` `[T, num_kv_heads * D]`; head h reads kv head h / (num_heads /
    num_kv_heads). `lse` `[num_heads, T]` is the log-sum-exp of the scaled scores, kept for the gradient. No `[T, T]`
    array exists.

    ```mlir
    %o, %lse = nn.attention ins(%q, %k, %v : tensor<128x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>)
        outs(%e0, %e1 : tensor<128x64xf32>, tensor<4x128xf32>)
        {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64} -> tensor<128x64xf32>, tensor<4x128xf32>
    ```

    Source: Vaswani et al., arXiv 1706.03762, equation 1; Ainslie et al., arXiv 2305.13245 (grouped queries).
  }];
  let arguments = (ins FloatArray:$q, FloatArray:$k, FloatArray:$v, FloatArray:$o, FloatArray:$lse,
                       I64Attr:$num_heads, I64Attr:$num_kv_heads, I64Attr:$seq_len);
}

def NN_AttentionGradOp
    : NN_Op<"attention_grad", ["q", "k", "v", "o", "lse", "do_"], ["dq", "dk", "dv"], [0, 1, 2, 3, 5, 6, 7, 8]> {
  let summary = "gradient of nn.attention";
  let description = [{
    Recomputes the probabilities p[t, s] = exp(q[t] . k[s] / sqrt(D) - lse[t]) instead of storing them. Per head, with
    dp[t, s] = do[t] . v[s] and ds[t, s] = p[t, s] (dp[t, s] - do[t] . o[t]) / sqrt(D): dq[t] = sum over s of ds[t, s]
    k[s], dk[s] = sum over t of ds[t, s] q[t], dv[s] = sum over t of p[t, s] do[t], the latter two summed over the heads
    of a kv head. Shapes as in `nn.attention`.

    ```mlir
    %dq, %dk, %dv = nn.attention_grad
        ins(%q, %k, %v, %o, %lse, %do : tensor<128x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>, tensor<128x64xf32>,
            tensor<4x128xf32>, tensor<128x64xf32>)
        outs(%e0, %e1, %e2 : tensor<128x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>)
        {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64}
        -> tensor<128x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>
    ```

    Source: Dao et al., arXiv 2205.14135 (FlashAttention), appendix B.
  }];
  let arguments = (ins FloatArray:$q, FloatArray:$k, FloatArray:$v, FloatArray:$o, FloatArray:$lse, FloatArray:$do_,
                       FloatArray:$dq, FloatArray:$dk, FloatArray:$dv,
                       I64Attr:$num_heads, I64Attr:$num_kv_heads, I64Attr:$seq_len);
}

def NN_CachedAttentionOp
    : NN_Op<"cached_attention", ["q", "k", "v", "position"], ["o", "k_cache", "v_cache"], [0, 1, 2, 4, 5, 6]> {
  let summary = "attention of one new token over a KV cache";
  let description = [{
    Writes `k`, `v` (`[1, num_kv_heads * D]`) at `position` (i32 scalar) of the caches (`[S, num_kv_heads * D]`), then
    attends from `q` (`[1, num_heads * D]`) to positions 0 to `position`; `o` is `[1, num_heads * D]`. The rest of the
    caches stays as it is.

    ```mlir
    %o, %k1, %v1 = nn.cached_attention
        ins(%q, %k, %v, %position : tensor<1x64xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<i32>)
        outs(%e, %k_cache, %v_cache : tensor<1x64xf32>, tensor<256x32xf32>, tensor<256x32xf32>)
        {num_heads = 4 : i64, num_kv_heads = 2 : i64} -> tensor<1x64xf32>, tensor<256x32xf32>, tensor<256x32xf32>
    ```

    Source: nn.attention for the last token of a sequence.
  }];
  let arguments = (ins FloatArray:$q, FloatArray:$k, FloatArray:$v, I32Array:$position, FloatArray:$o,
                       FloatArray:$k_cache, FloatArray:$v_cache, I64Attr:$num_heads, I64Attr:$num_kv_heads);
}

def NN_SelectTokenOp : NN_Op<"select_token", ["x", "index"], ["y"], [0, 2]> {
  let summary = "y[0] = x[index]: one token of an activation";
  let description = [{
    `x` is `[T, F]`, `index` an i32 scalar in [0, T), `y` `[1, F]`: the last token of a prompt, whose logits are wanted.

    ```mlir
    %y = nn.select_token ins(%x, %last : tensor<128x64xf32>, tensor<i32>) outs(%e : tensor<1x64xf32>)
        -> tensor<1x64xf32>
    ```
  }];
  let arguments = (ins FloatArray:$x, I32Array:$index, FloatArray:$y);
}

//===----------------------------------------------------------------------===//
// Linear layers and loss
//===----------------------------------------------------------------------===//

def NN_LinearOp : NN_Op<"linear", ["x", "w"], ["y"], [0, 2], [Differentiable]> {
  let summary = "y = x wᵀ with a dense weight";
  let description = [{
    `x` is `[T, K]`, `w` `[N, K]`, `y` `[T, N]`.

    ```mlir
    %y = nn.linear ins(%x, %w : tensor<128x64xf32>, tensor<32x64xf32>) outs(%e : tensor<128x32xf32>)
        -> tensor<128x32xf32>
    ```

    Source: y[t, n] = sum over k of x[t, k] w[n, k], torch.nn.Linear without bias.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$w, FloatArray:$y);
}

def NN_LinearGradInputOp : NN_Op<"linear_grad_input", ["dy", "w"], ["dx"], [0, 2]> {
  let summary = "dx = dy w";
  let description = [{
    The gradient of `nn.linear` by `x`. `dy` is `[T, N]`, `w` `[N, K]`, `dx` `[T, K]`.

    ```mlir
    %dx = nn.linear_grad_input ins(%dy, %w : tensor<128x32xf32>, tensor<32x64xf32>) outs(%e : tensor<128x64xf32>)
        -> tensor<128x64xf32>
    ```

    Source: the derivative of nn.linear.
  }];
  let arguments = (ins FloatArray:$dy, FloatArray:$w, FloatArray:$dx);
}

def NN_LinearGradWeightOp : NN_Op<"linear_grad_weight", ["x", "dy"], ["dw"], [0, 1]> {
  let summary = "dw = dyᵀ x";
  let description = [{
    The gradient of `nn.linear` by `w`. `x` is `[T, K]`, `dy` `[T, N]`, `dw` `[N, K]`.

    ```mlir
    %dw = nn.linear_grad_weight ins(%x, %dy : tensor<128x64xf32>, tensor<128x32xf32>) outs(%e : tensor<32x64xf32>)
        -> tensor<32x64xf32>
    ```

    Source: the derivative of nn.linear.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$dy, FloatArray:$dw);
}

def NN_LinearCrossEntropyOp
    : NN_Op<"linear_cross_entropy", ["x", "w", "targets", "num_valid"], ["loss", "lse"], [0], [Differentiable]> {
  let summary = "lm_head and mean cross-entropy in one op";
  let description = [{
    With logits z[t] = w x[t] and lse[t] = log(sum over v of exp(z[t, v])): loss = sum over tokens with targets[t] >= 0
    of (lse[t] - z[t, targets[t]]) / num_valid, in nats. `x` is `[T, F]`, `w` `[V, F]`, `targets` i32 `[T]`, negative
    entries are ignored; `num_valid` is an i32 scalar, the number of valid targets of the whole accumulated batch;
    `loss` is a scalar, `lse` `[T]`. Works in panels of the vocabulary, so that no `[T, V]` array exists.

    ```mlir
    %loss, %lse = nn.linear_cross_entropy
        ins(%x, %w, %targets, %num_valid : tensor<128x64xf32>, tensor<1024x64xf32>, tensor<128xi32>, tensor<i32>)
        outs(%e0, %e1 : tensor<f32>, tensor<128xf32>) -> tensor<f32>, tensor<128xf32>
    ```

    Source: the mean of -log softmax(w x[t]) at the targets.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$w, I32Array:$targets, I32Array:$num_valid, FloatArray:$loss,
                       FloatArray:$lse);
}

def NN_LinearCrossEntropyGradOp
    : NN_Op<"linear_cross_entropy_grad", ["x", "w", "targets", "num_valid", "lse", "dloss"], ["dx", "dw"], [0, 6]> {
  let summary = "gradient of nn.linear_cross_entropy";
  let description = [{
    dz[t, v] = dloss (exp(z[t, v] - lse[t]) - [v == targets[t]]) / num_valid for valid tokens, else 0; dx = dz w, dw =
    dzᵀ x. `lse` is that of the loss, `dloss` a scalar, `dx` `[T, F]`, `dw` `[V, F]`; the logits are computed again.

    ```mlir
    %dx, %dw = nn.linear_cross_entropy_grad
        ins(%x, %w, %targets, %num_valid, %lse, %dloss : tensor<128x64xf32>, tensor<1024x64xf32>, tensor<128xi32>,
            tensor<i32>, tensor<128xf32>, tensor<f32>)
        outs(%e0, %e1 : tensor<128x64xf32>, tensor<1024x64xf32>) -> tensor<128x64xf32>, tensor<1024x64xf32>
    ```

    Source: the derivative of nn.linear_cross_entropy.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$w, I32Array:$targets, I32Array:$num_valid, FloatArray:$lse,
                       FloatArray:$dloss, FloatArray:$dx, FloatArray:$dw);
}

def NN_LinearCrossEntropyWithGradOp
    : NN_Op<"linear_cross_entropy_with_grad", ["x", "w", "targets", "num_valid", "dloss"], ["loss", "dx", "dw"],
            [0, 6]> {
  let summary = "nn.linear_cross_entropy and its gradient, with one product for the logits";
  let description = [{
    The operands are those of the two ops, and so are the results. Works in chunks of tokens, of which the logits of the
    whole vocabulary are kept (64 MiB on the CPU), so that no `[T, V]` array exists. `smet-fuse-loss` makes it of the two.

    ```mlir
    %loss, %dx, %dw = nn.linear_cross_entropy_with_grad
        ins(%x, %w, %targets, %num_valid, %dloss : tensor<128x64xf32>, tensor<1024x64xf32>, tensor<128xi32>,
            tensor<i32>, tensor<f32>)
        outs(%e0, %e1, %e2 : tensor<f32>, tensor<128x64xf32>, tensor<1024x64xf32>)
        -> tensor<f32>, tensor<128x64xf32>, tensor<1024x64xf32>
    ```

    Source: nn.linear_cross_entropy and its derivative.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$w, I32Array:$targets, I32Array:$num_valid, FloatArray:$dloss,
                       FloatArray:$loss, FloatArray:$dx, FloatArray:$dw);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

def NN_PackOp : NN_Op<"pack", ["x"], ["y"], []> {
  let summary = "[T, F] to packed token tiles [ceil(T / L), F, L]";
  let description = [{
    y[i, f, l] = x[i L + l, f]; lanes beyond T are zero. `smet-pack-tokens` places it where a program's tensors are `[T,
    F]`.

    ```mlir
    %y = nn.pack ins(%x : tensor<100x32xf32>) outs(%e : tensor<2x32x64xf32>) -> tensor<2x32x64xf32>
    ```

    Source: docs/Rationale/Dialects.md (layouts of activations).
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$y);
}

def NN_UnpackOp : NN_Op<"unpack", ["x"], ["y"], []> {
  let summary = "packed token tiles [ceil(T / L), F, L] to [T, F]";
  let description = [{
    y[i L + l, f] = x[i, f, l] for the T tokens of `y`. Of packed tokens it is those tokens, and folds away.

    ```mlir
    %y = nn.unpack ins(%x : tensor<2x32x64xf32>) outs(%e : tensor<100x32xf32>) -> tensor<100x32xf32>
    ```
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$y);
  let hasCanonicalizeMethod = 1;
}

#endif // SMET_DIALECT_NN_NNOPS
