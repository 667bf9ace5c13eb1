"""PyTorch's training step of a dense LLaMA in f32: forward, backward and AdamW.

The job of smet-bench step: {"model": a Hugging Face config, "batch": B, "seq_len": T, "threads": P}. Answers
"0 step" with seconds and "0 memory" with the peak resident bytes of this process. With --compile the model goes through
torch.compile.
"""

import resource
import sys
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from peer import serve
from torch import nn


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads = c.num_attention_heads, c.num_key_value_heads
        self.head = c.hidden_size // self.heads
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.q, self.o = linear(c.hidden_size, c.hidden_size), linear(c.hidden_size, c.hidden_size)
        self.k, self.v = (linear(c.hidden_size, self.kv_heads * self.head) for _ in range(2))
        self.gate, self.up = (linear(c.hidden_size, c.intermediate_size) for _ in range(2))
        self.down = linear(c.intermediate_size, c.hidden_size)
        self.norms = nn.ModuleList(nn.RMSNorm(c.hidden_size, eps=1e-6) for _ in range(2))

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        n = self.norms[0](x)
        split = lambda y, heads: y.view(b, t, heads, self.head).transpose(1, 2)
        rope = lambda y: y * cos + torch.cat((-y[..., self.head // 2 :], y[..., : self.head // 2]), -1) * sin
        q, k, v = (
            rope(split(self.q(n), self.heads)),
            rope(split(self.k(n), self.kv_heads)),
            split(self.v(n), self.kv_heads),
        )
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv_heads != self.heads)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, -1))
        n = self.norms[1](x)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))


class Llama(nn.Module):
    def __init__(self, c, seq_len):
        super().__init__()
        self.embedding = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = nn.RMSNorm(c.hidden_size, eps=1e-6)
        self.head = nn.Linear(c.hidden_size, c.vocab_size, bias=False)
        size = c.hidden_size // c.num_attention_heads
        angles = torch.outer(torch.arange(seq_len), 10000.0 ** -(torch.arange(0, size, 2) / size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.apply(lambda m: hasattr(m, "weight") and m.weight.dim() == 2 and nn.init.normal_(m.weight, std=0.02))

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def products(job):
    torch.set_num_threads(job.threads)
    torch.manual_seed(1)
    config = SimpleNamespace(**job.model)
    model = Llama(config, job.seq_len)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0, fused=True)
    loss_of = torch.compile(model) if "--compile" in sys.argv else model

    def step():
        tokens = torch.randint(config.vocab_size, (job.batch, job.seq_len + 1))
        loss = loss_of(tokens[:, :-1], tokens[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return [{"step": step, "memory": lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}]


serve(products, read=lambda fields: SimpleNamespace(**fields))
