//===- NNOps.td - dense ops of transformer layers ----------*- tablegen -*-===//
//
// Every op is destination style on tensors or memrefs (see KernelOp.td) and overwrites its outs.
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
  }];
  let arguments = (ins FloatArray:$table, I32Array:$ids, FloatArray:$x);
}

def NN_EmbeddingGradOp : NN_Op<"embedding_grad", ["dx", "ids"], ["dtable"], [0]> {
  let summary = "dtable[v] = sum of dx[t] over the tokens t with ids[t] == v, in the order of t";
  let arguments = (ins FloatArray:$dx, I32Array:$ids, FloatArray:$dtable);
}

//===----------------------------------------------------------------------===//
// Norm, rotary embedding, activation, residual
//===----------------------------------------------------------------------===//

def NN_RMSNormOp : NN_Op<"rms_norm", ["x", "gamma"], ["y"], [0, 2], [Differentiable]> {
  let summary = "y[t] = gamma * x[t] / sqrt(mean(x[t]^2) + eps)";
  let description = [{
    Root mean square normalisation over features (Zhang and Sennrich, arXiv 1910.07467). `x`, `y` `[T, F]`, `gamma` `[F]`.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$gamma, FloatArray:$y, F64Attr:$eps);
}

def NN_RMSNormGradOp : NN_Op<"rms_norm_grad", ["x", "gamma", "dy"], ["dx", "dgamma"], [0, 2, 3]> {
  let summary = "gradient of nn.rms_norm";
  let description = [{
    With r = 1 / sqrt(mean(x^2) + eps) per token and g = gamma * dy:
    dx = r g - x r^3 mean(x g), dgamma = sum over t of dy x r, summed in a fixed order of tokens.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$gamma, FloatArray:$dy, FloatArray:$dx, FloatArray:$dgamma, F64Attr:$eps);
}

def NN_RopeOp : NN_Op<"rope", ["x"], ["y"], [0, 1], [Differentiable]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates features i and i + D/2 of every head (the Hugging Face LLaMA convention) by the angle
    p * theta^(-2 i / D), where p is the token's position. Su et al., arXiv 2104.09864. The position of token t is
    `t mod seq_len`. With `inverse` it rotates back, which is the gradient. `x`, `y` are `[T, H * D]`; tables of sine and
    cosine are computed in double.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$y, I64Attr:$head_dim, I64Attr:$seq_len, F64Attr:$theta, UnitAttr:$inverse);
}

def NN_RopeAtOp : NN_Op<"rope_at", ["x", "position"], ["y"], [0, 2]> {
  let summary = "rotary position embedding of one token at a position given at run time";
  let description = [{
    As `nn.rope` for `x` of shape `[1, H * D]`; `position` is an i32 scalar tensor in [0, seq_len).
  }];
  let arguments = (ins FloatArray:$x, I32Array:$position, FloatArray:$y, I64Attr:$head_dim, I64Attr:$seq_len, F64Attr:$theta);
}

def NN_SiluMulOp : NN_Op<"silu_mul", ["gate", "up"], ["y"], [0, 1, 2], [Differentiable]> {
  let summary = "y = gate * sigmoid(gate) * up, elementwise (SwiGLU, arXiv 2002.05202)";
  let arguments = (ins FloatArray:$gate, FloatArray:$up, FloatArray:$y);
}

def NN_SiluMulGradOp : NN_Op<"silu_mul_grad", ["gate", "up", "dy"], ["dgate", "dup"], [0, 1, 2, 3, 4]> {
  let summary = "gradient of nn.silu_mul";
  let arguments = (ins FloatArray:$gate, FloatArray:$up, FloatArray:$dy, FloatArray:$dgate, FloatArray:$dup);
}

def NN_AddOp : NN_Op<"add", ["a", "b"], ["c"], [0, 1, 2], [Differentiable]> {
  let summary = "c = a + b, elementwise: residuals and gradients of values used more than once";
  let description = [{
    All shapes are equal. Activations are packed only where a producer or consumer is.
  }];
  let arguments = (ins FloatArray:$a, FloatArray:$b, FloatArray:$c);
}

def NN_FillOp : NN_Op<"fill", [], ["x"], []> {
  let summary = "sets every element to a constant";
  let arguments = (ins FloatArray:$x, F64Attr:$value);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def NN_AttentionOp : NN_Op<"attention", ["q", "k", "v"], ["o", "lse"], [0, 1, 2, 3], [Differentiable]> {
  let summary = "causal grouped-query attention";
  let description = [{
    For every sequence (`seq_len` consecutive tokens) and head: `o[t] = sum over s <= t of softmax(q[t] . k[s] / sqrt(D)) v[s]`.
    `q`, `o` are `[T, num_heads * D]`, `k`, `v` `[T, num_kv_heads * D]`; head h reads kv head
    `h / (num_heads / num_kv_heads)`. `lse` `[num_heads, T]` is the log-sum-exp of the scaled scores, kept for the
    gradient. No `[T, T]` array exists.
  }];
  let arguments = (ins FloatArray:$q, FloatArray:$k, FloatArray:$v, FloatArray:$o, FloatArray:$lse,
                       I64Attr:$num_heads, I64Attr:$num_kv_heads, I64Attr:$seq_len);
}

def NN_AttentionGradOp
    : NN_Op<"attention_grad", ["q", "k", "v", "o", "lse", "do_"], ["dq", "dk", "dv"], [0, 1, 2, 3, 5, 6, 7, 8]> {
  let summary = "gradient of nn.attention, recomputing the probabilities from lse (FlashAttention, arXiv 2205.14135)";
  let arguments = (ins FloatArray:$q, FloatArray:$k, FloatArray:$v, FloatArray:$o, FloatArray:$lse, FloatArray:$do_,
                       FloatArray:$dq, FloatArray:$dk, FloatArray:$dv,
                       I64Attr:$num_heads, I64Attr:$num_kv_heads, I64Attr:$seq_len);
}

def NN_CachedAttentionOp
    : NN_Op<"cached_attention", ["q", "k", "v", "position"], ["o", "k_cache", "v_cache"], [0, 1, 2, 4, 5, 6]> {
  let summary = "attention of one new token over a KV cache";
  let description = [{
    Writes `k`, `v` (`[1, num_kv_heads * D]`) at `position` (i32 scalar tensor) of the caches (`[S, num_kv_heads * D]`), then
    attends from `q` (`[1, num_heads * D]`) to positions 0 to `position`. The rest of the caches stays as it is.
  }];
  let arguments = (ins FloatArray:$q, FloatArray:$k, FloatArray:$v, I32Array:$position, FloatArray:$o,
                       FloatArray:$k_cache, FloatArray:$v_cache, I64Attr:$num_heads, I64Attr:$num_kv_heads);
}

def NN_SelectTokenOp : NN_Op<"select_token", ["x", "index"], ["y"], [0, 2]> {
  let summary = "y[0] = x[index]: one token of an activation, `[T, F]` to `[1, F]`";
  let arguments = (ins FloatArray:$x, I32Array:$index, FloatArray:$y);
}

//===----------------------------------------------------------------------===//
// Linear layers and loss
//===----------------------------------------------------------------------===//

def NN_LinearOp : NN_Op<"linear", ["x", "w"], ["y"], [0, 2], [Differentiable]> {
  let summary = "y = x wᵀ with a dense weight";
  let description = [{ `x` `[T, K]`, `w` `[N, K]`, `y` `[T, N]`. }];
  let arguments = (ins FloatArray:$x, FloatArray:$w, FloatArray:$y);
}

def NN_LinearGradInputOp : NN_Op<"linear_grad_input", ["dy", "w"], ["dx"], [0, 2]> {
  let summary = "dx = dy w";
  let arguments = (ins FloatArray:$dy, FloatArray:$w, FloatArray:$dx);
}

def NN_LinearGradWeightOp : NN_Op<"linear_grad_weight", ["x", "dy"], ["dw"], [0, 1]> {
  let summary = "dw = dyᵀ x";
  let arguments = (ins FloatArray:$x, FloatArray:$dy, FloatArray:$dw);
}

def NN_LinearCrossEntropyOp
    : NN_Op<"linear_cross_entropy", ["x", "w", "targets", "num_valid"], ["loss", "lse"], [0], [Differentiable]> {
  let summary = "lm_head and mean cross-entropy in one op";
  let description = [{
    With logits z[t] = w x[t] (`x` `[T, F]`, `w` `[V, F]`), lse[t] = log(sum over v of exp(z[t, v])):
    `loss` = sum over tokens with targets[t] >= 0 of (lse[t] - z[t, targets[t]]) / num_valid. `targets` is i32 `[T]`, negative
    entries are ignored; `num_valid` is an i32 scalar tensor, the number of valid targets of the whole accumulated batch.
    Works in panels of the vocabulary, so that no `[T, V]` array exists.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$w, I32Array:$targets, I32Array:$num_valid, FloatArray:$loss, FloatArray:$lse);
}

def NN_LinearCrossEntropyGradOp
    : NN_Op<"linear_cross_entropy_grad", ["x", "w", "targets", "num_valid", "lse", "dloss"], ["dx", "dw"], [0, 6]> {
  let summary = "gradient of nn.linear_cross_entropy";
  let description = [{
    dz[t, v] = dloss (exp(z[t, v] - lse[t]) - [v == targets[t]]) / num_valid for valid tokens, else 0; dx = dz w, dw = dzᵀ x.
  }];
  let arguments = (ins FloatArray:$x, FloatArray:$w, I32Array:$targets, I32Array:$num_valid, FloatArray:$lse,
                       FloatArray:$dloss, FloatArray:$dx, FloatArray:$dw);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

def NN_PackOp : NN_Op<"pack", ["x"], ["y"], []> {
  let summary = "[T, F] to packed token tiles [ceil(T / L), F, L]; lanes beyond T are zero";
  let arguments = (ins FloatArray:$x, FloatArray:$y);
}

def NN_UnpackOp : NN_Op<"unpack", ["x"], ["y"], []> {
  let summary = "packed token tiles [ceil(T / L), F, L] to [T, F]";
  let arguments = (ins FloatArray:$x, FloatArray:$y);
}

#endif // SMET_DIALECT_NN_NNOPS
