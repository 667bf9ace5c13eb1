// RUN: smet-opt %s -split-input-file -verify-diagnostics

func.func @gamma(%x: tensor<64x256xf32>, %g: tensor<128xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op gamma has shape [128], expected [256], the features of x ([64, 256])}}
  %y = nn.rms_norm ins(%x, %g : tensor<64x256xf32>, tensor<128xf32>) outs(%x : tensor<64x256xf32>) {eps = 1.0e-6 : f64} -> tensor<64x256xf32>
  return
}

// -----

func.func @eps(%x: tensor<64x256xf32>, %g: tensor<256xf32>) {
  // expected-error @+1 {{eps must be at least 0 and finite, got -1}}
  %y = nn.rms_norm ins(%x, %g : tensor<64x256xf32>, tensor<256xf32>) outs(%x : tensor<64x256xf32>) {eps = -1.0 : f64} -> tensor<64x256xf32>
  return
}

// -----

func.func @rank(%x: tensor<f32>, %g: tensor<256xf32>) {
  // expected-error @+1 {{x has shape [], expected [T, F] or packed [ceil(T / L), F, L]}}
  %y = nn.rms_norm ins(%x, %g : tensor<f32>, tensor<256xf32>) outs(%x : tensor<f32>) {eps = 0.0 : f64} -> tensor<f32>
  return
}

// -----

func.func @mixed(%x: tensor<64x256xf32>, %g: memref<256xf32>) {
  // expected-error @+1 {{mixes tensors and memrefs}}
  %y = nn.rms_norm ins(%x, %g : tensor<64x256xf32>, memref<256xf32>) outs(%x : tensor<64x256xf32>) {eps = 0.0 : f64} -> tensor<64x256xf32>
  return
}

// -----

func.func @element(%x: memref<64x256xf32>, %g: memref<256xf64>) {
  // expected-error @+1 {{gamma has element type 'f64', expected 'f32', the element type of x}}
  nn.rms_norm ins(%x, %g : memref<64x256xf32>, memref<256xf64>) outs(%x : memref<64x256xf32>) {eps = 0.0 : f64}
  return
}

// -----

func.func @layouts(%x: memref<64x256xf32>, %y: memref<1x256x64xf32>) {
  // expected-error @+1 {{up has shape [1, 256, 64], another layout than gate ([64, 256])}}
  nn.silu_mul ins(%x, %y : memref<64x256xf32>, memref<1x256x64xf32>) outs(%x : memref<64x256xf32>)
  return
}

// -----

func.func @tiles(%table: memref<8x16xf32>, %ids: memref<130xi32>, %x: memref<2x16x64xf32>) {
  // expected-error @+1 {{x has shape [2, 16, 64], but 2 tiles of 64 lanes do not hold 130 tokens, the tokens of ids ([130])}}
  nn.embedding ins(%table, %ids : memref<8x16xf32>, memref<130xi32>) outs(%x : memref<2x16x64xf32>)
  return
}

// -----

func.func @no_lanes(%x: memref<2x16x0xf32>) {
  // expected-error @+1 {{gate has shape [2, 16, 0], expected token tiles of at least 1 lane}}
  nn.silu_mul ins(%x, %x : memref<2x16x0xf32>, memref<2x16x0xf32>) outs(%x : memref<2x16x0xf32>)
  return
}

// -----

func.func @lanes(%x: memref<2x16x64xf32>, %y: memref<2x16x32xf32>) {
  // expected-error @+1 {{up has shape [2, 16, 32], expected [2, 16, 64], the layout of gate ([2, 16, 64])}}
  nn.silu_mul ins(%x, %y : memref<2x16x64xf32>, memref<2x16x32xf32>) outs(%x : memref<2x16x64xf32>)
  return
}

// -----

func.func @head_dim(%x: memref<64x256xf32>) {
  // expected-error @+1 {{head_dim must be positive, got 0}}
  nn.rope ins(%x : memref<64x256xf32>) outs(%x : memref<64x256xf32>) {head_dim = 0 : i64, seq_len = 64 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @head_dim(%x: memref<64x255xf32>) {
  // expected-error @+1 {{head_dim must be even, since features i and i + head_dim / 2 rotate together, got 5}}
  nn.rope ins(%x : memref<64x255xf32>) outs(%x : memref<64x255xf32>) {head_dim = 5 : i64, seq_len = 64 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @head_dim(%x: memref<64x256xf32>) {
  // expected-error @+1 {{head_dim = 96 does not divide the 256 features of x ([64, 256])}}
  nn.rope ins(%x : memref<64x256xf32>) outs(%x : memref<64x256xf32>) {head_dim = 96 : i64, seq_len = 64 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @theta(%x: memref<64x256xf32>) {
  // expected-error @+1 {{theta must be positive and finite, got 0}}
  nn.rope ins(%x : memref<64x256xf32>) outs(%x : memref<64x256xf32>) {head_dim = 64 : i64, seq_len = 64 : i64, theta = 0.0 : f64}
  return
}

// -----

func.func @seq_len(%x: memref<64x256xf32>) {
  // expected-error @+1 {{seq_len must be positive, got 0}}
  nn.rope ins(%x : memref<64x256xf32>) outs(%x : memref<64x256xf32>) {head_dim = 64 : i64, seq_len = 0 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @seq_len(%x: memref<64x256xf32>) {
  // expected-error @+1 {{seq_len = 48 does not divide 64, the tokens of x ([64, 256])}}
  nn.rope ins(%x : memref<64x256xf32>) outs(%x : memref<64x256xf32>) {head_dim = 64 : i64, seq_len = 48 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @seq_len(%x: memref<1x256x64xf32>) {
  // expected-error @+1 {{no number of sequences of seq_len = 128 fills 1 tiles of 64 tokens, the layout of x ([1, 256, 64])}}
  nn.rope ins(%x : memref<1x256x64xf32>) outs(%x : memref<1x256x64xf32>) {head_dim = 64 : i64, seq_len = 128 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @one_token(%x: memref<2x256xf32>, %p: memref<i32>) {
  // expected-error @+1 {{x has shape [2, 256], expected [1, F], one token}}
  nn.rope_at ins(%x, %p : memref<2x256xf32>, memref<i32>) outs(%x : memref<2x256xf32>) {head_dim = 64 : i64, seq_len = 8 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @add(%x: memref<2x256xf32>, %y: memref<256x2xf32>) {
  // expected-error @+1 {{b has shape [256, 2], expected [2, 256], the shape of a}}
  nn.add ins(%x, %y : memref<2x256xf32>, memref<256x2xf32>) outs(%x : memref<2x256xf32>)
  return
}

// -----

func.func @heads(%q: memref<64x32xf32>, %k: memref<64x16xf32>, %l: memref<4x64xf32>) {
  // expected-error @+1 {{num_heads must be positive, got 0}}
  nn.attention ins(%q, %k, %k : memref<64x32xf32>, memref<64x16xf32>, memref<64x16xf32>) outs(%q, %l : memref<64x32xf32>, memref<4x64xf32>)
    {num_heads = 0 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64}
  return
}

// -----

func.func @heads(%q: memref<64x32xf32>, %k: memref<64x16xf32>, %l: memref<4x64xf32>) {
  // expected-error @+1 {{num_kv_heads = 3 does not divide num_heads = 4}}
  nn.attention ins(%q, %k, %k : memref<64x32xf32>, memref<64x16xf32>, memref<64x16xf32>) outs(%q, %l : memref<64x32xf32>, memref<4x64xf32>)
    {num_heads = 4 : i64, num_kv_heads = 3 : i64, seq_len = 64 : i64}
  return
}

// -----

func.func @heads(%q: memref<64x30xf32>, %k: memref<64x16xf32>, %l: memref<4x64xf32>) {
  // expected-error @+1 {{num_heads = 4 does not divide the 30 features of q ([64, 30])}}
  nn.attention ins(%q, %k, %k : memref<64x30xf32>, memref<64x16xf32>, memref<64x16xf32>) outs(%q, %l : memref<64x30xf32>, memref<4x64xf32>)
    {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64}
  return
}

// -----

func.func @kv(%q: memref<64x32xf32>, %k: memref<64x8xf32>, %l: memref<4x64xf32>) {
  // expected-error @+1 {{k has shape [64, 8], expected [64, 16], num_kv_heads times the 8 features of a head of q ([64, 32])}}
  nn.attention ins(%q, %k, %k : memref<64x32xf32>, memref<64x8xf32>, memref<64x8xf32>) outs(%q, %l : memref<64x32xf32>, memref<4x64xf32>)
    {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64}
  return
}

// -----

func.func @lse(%q: memref<64x32xf32>, %k: memref<64x16xf32>, %l: memref<64x4xf32>) {
  // expected-error @+1 {{lse has shape [64, 4], expected [4, 64], num_heads}}
  nn.attention ins(%q, %k, %k : memref<64x32xf32>, memref<64x16xf32>, memref<64x16xf32>) outs(%q, %l : memref<64x32xf32>, memref<64x4xf32>)
    {num_heads = 4 : i64, num_kv_heads = 2 : i64, seq_len = 64 : i64}
  return
}

// -----

func.func @linear(%x: memref<64x32xf32>, %w: memref<16x31xf32>, %y: memref<64x16xf32>) {
  // expected-error @+1 {{w has shape [16, 31], expected [16, 32], the features of x ([64, 32])}}
  nn.linear ins(%x, %w : memref<64x32xf32>, memref<16x31xf32>) outs(%y : memref<64x16xf32>)
  return
}

// -----

func.func @linear_grad(%x: memref<64x32xf32>, %dy: memref<32x16xf32>, %w: memref<16x32xf32>) {
  // expected-error @+1 {{dy has shape [32, 16], expected [64, N], the tokens of x ([64, 32])}}
  nn.linear_grad_weight ins(%x, %dy : memref<64x32xf32>, memref<32x16xf32>) outs(%w : memref<16x32xf32>)
  return
}

// -----

func.func @scalar(%x: memref<64x32xf32>, %w: memref<9x32xf32>, %t: memref<64xi32>, %n: memref<1xi32>, %loss: memref<f32>, %lse: memref<64xf32>) {
  // expected-error @+1 {{num_valid has shape [1], expected []}}
  nn.linear_cross_entropy ins(%x, %w, %t, %n : memref<64x32xf32>, memref<9x32xf32>, memref<64xi32>, memref<1xi32>) outs(%loss, %lse : memref<f32>, memref<64xf32>)
  return
}

// -----

func.func @pack(%x: memref<64x32xf32>) {
  // expected-error @+1 {{y has shape [64, 32], expected [ceil(T / L), 32, L], packed token tiles}}
  nn.pack ins(%x : memref<64x32xf32>) outs(%x : memref<64x32xf32>)
  return
}

// -----

func.func @unpack(%x: memref<1x32x64xf32>, %y: memref<65x32xf32>) {
  // expected-error @+1 {{but 1 tiles of 64 lanes do not hold 65 tokens}}
  nn.unpack ins(%x : memref<1x32x64xf32>) outs(%y : memref<65x32xf32>)
  return
}

// -----

func.func @packed_features(%x: memref<2x16x64xf32>, %y: memref<2x15x64xf32>) {
  // expected-error @+1 {{up has shape [2, 15, 64], expected [2, 16, 64], the features of gate ([2, 16, 64])}}
  nn.silu_mul ins(%x, %y : memref<2x16x64xf32>, memref<2x15x64xf32>) outs(%x : memref<2x16x64xf32>)
  return
}

// -----

func.func @flat_after_packed(%dx: memref<2x16x64xf32>, %ids: memref<130xi32>, %table: memref<8x16xf32>) {
  // expected-error @+1 {{ids has shape [130], but 2 tiles of 64 lanes do not hold 130 tokens, the layout of dx ([2, 16, 64])}}
  nn.embedding_grad ins(%dx, %ids : memref<2x16x64xf32>, memref<130xi32>) outs(%table : memref<8x16xf32>)
  return
}

// -----

func.func @eps(%x: memref<64x8xf32>, %g: memref<8xf32>) {
  // expected-error @+1 {{eps must be at least 0 and finite, got nan}}
  nn.rms_norm_grad ins(%x, %g, %x : memref<64x8xf32>, memref<8xf32>, memref<64x8xf32>) outs(%x, %g : memref<64x8xf32>, memref<8xf32>) {eps = 0x7FF8000000000000 : f64}
  return
}

// -----

func.func @theta(%x: memref<1x256xf32>, %p: memref<i32>) {
  // expected-error @+1 {{theta must be positive and finite, got INF}}
  nn.rope_at ins(%x, %p : memref<1x256xf32>, memref<i32>) outs(%x : memref<1x256xf32>) {head_dim = 64 : i64, seq_len = 8 : i64, theta = 0x7FF0000000000000 : f64}
  return
}

// -----

func.func @seq_len(%x: memref<1x256xf32>, %p: memref<i32>) {
  // expected-error @+1 {{seq_len must be positive, got -8}}
  nn.rope_at ins(%x, %p : memref<1x256xf32>, memref<i32>) outs(%x : memref<1x256xf32>) {head_dim = 64 : i64, seq_len = -8 : i64, theta = 1.0e4 : f64}
  return
}

// -----

func.func @kv_heads(%q: memref<1x32xf32>, %p: memref<i32>, %cache: memref<64x32xf32>) {
  // expected-error @+1 {{num_kv_heads must be positive, got 0}}
  nn.cached_attention ins(%q, %q, %q, %p : memref<1x32xf32>, memref<1x32xf32>, memref<1x32xf32>, memref<i32>)
    outs(%q, %cache, %cache : memref<1x32xf32>, memref<64x32xf32>, memref<64x32xf32>) {num_heads = 4 : i64, num_kv_heads = 0 : i64}
  return
}

// -----

func.func @caches(%q: memref<1x32xf32>, %p: memref<i32>, %k: memref<64x32xf32>, %v: memref<63x32xf32>) {
  // expected-error @+1 {{v_cache has shape [63, 32], expected [64, 32], the tokens of k_cache ([64, 32])}}
  nn.cached_attention ins(%q, %q, %q, %p : memref<1x32xf32>, memref<1x32xf32>, memref<1x32xf32>, memref<i32>)
    outs(%q, %k, %v : memref<1x32xf32>, memref<64x32xf32>, memref<63x32xf32>) {num_heads = 4 : i64, num_kv_heads = 4 : i64}
  return
}

// -----

func.func @select(%x: memref<64x32xf32>, %i: memref<i32>, %y: memref<2x32xf32>) {
  // expected-error @+1 {{y has shape [2, 32], expected [1, 32], one token}}
  nn.select_token ins(%x, %i : memref<64x32xf32>, memref<i32>) outs(%y : memref<2x32xf32>)
  return
}

// -----

func.func @attention_grad(%q: memref<64x32xf32>, %lse: memref<4x64xf32>, %dv: memref<64x16xf32>) {
  // expected-error @+1 {{dv has shape [64, 16], expected [64, 32]}}
  nn.attention_grad ins(%q, %q, %q, %q, %lse, %q : memref<64x32xf32>, memref<64x32xf32>, memref<64x32xf32>, memref<64x32xf32>, memref<4x64xf32>, memref<64x32xf32>)
    outs(%q, %q, %dv : memref<64x32xf32>, memref<64x32xf32>, memref<64x16xf32>) {num_heads = 4 : i64, num_kv_heads = 4 : i64, seq_len = 64 : i64}
  return
}

// -----

func.func @targets(%x: memref<64x32xf32>, %w: memref<9x32xf32>, %t: memref<63xi32>, %n: memref<i32>, %s: memref<f32>, %lse: memref<64xf32>) {
  // expected-error @+1 {{targets has shape [63], expected [64], the tokens of x ([64, 32])}}
  nn.linear_cross_entropy_grad ins(%x, %w, %t, %n, %lse, %s : memref<64x32xf32>, memref<9x32xf32>, memref<63xi32>, memref<i32>, memref<64xf32>, memref<f32>)
    outs(%x, %w : memref<64x32xf32>, memref<9x32xf32>)
  return
}

// -----

func.func @linear_grad_input(%dy: memref<64x16xf32>, %w: memref<15x32xf32>, %dx: memref<64x32xf32>) {
  // expected-error @+1 {{w has shape [15, 32], expected [16, K], the features of dy ([64, 16])}}
  nn.linear_grad_input ins(%dy, %w : memref<64x16xf32>, memref<15x32xf32>) outs(%dx : memref<64x32xf32>)
  return
}

// -----

func.func @element(%ids: memref<8xi64>, %table: memref<8x4xf32>, %x: memref<8x4xf32>) {
  // expected-error @+1 {{operand #1 must be tensor or memref of i32, but got 'memref<8xi64>'}}
  nn.embedding ins(%table, %ids : memref<8x4xf32>, memref<8xi64>) outs(%x : memref<8x4xf32>)
  return
}

// -----

func.func @element(%x: tensor<8x4xf16>) {
  // expected-error @+1 {{operand #0 must be tensor or memref of bf16, f32 or f64, but got 'tensor<8x4xf16>'}}
  %0 = nn.add ins(%x, %x : tensor<8x4xf16>, tensor<8x4xf16>) outs(%x : tensor<8x4xf16>) -> tensor<8x4xf16>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{operand #0 must be tensor or memref of bf16, f32 or f64, but got 'tensor<*xf32>'}}
  %0 = nn.add ins(%x, %x : tensor<*xf32>, tensor<*xf32>) outs(%x : tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @no_result(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  nn.add ins(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%x : tensor<8x4xf32>)
  return
}

// -----

func.func @result(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expected type of operand #2 ('tensor<8x4xf32>') to match type of corresponding result ('tensor<4x8xf32>')}}
  %0 = nn.add ins(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%x : tensor<8x4xf32>) -> tensor<4x8xf32>
  return
}
