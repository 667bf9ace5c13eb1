"""PyTorch's dense linear layer: activations [tokens, features]."""

import torch
from peer import serve


def products(job):
    torch.set_num_threads(job.threads)
    torch.set_grad_enabled(False)

    def layer(n, k):
        x, dy, w = torch.randn(job.tokens, k), torch.randn(job.tokens, n), torch.randn(n, k)
        y, dx, dw = torch.empty_like(dy), torch.empty_like(x), torch.empty_like(w)
        return {
            "fwd": lambda: torch.mm(x, w.t(), out=y),
            "dx": lambda: torch.mm(dy, w, out=dx),
            "dw": lambda: torch.mm(dy.t(), x, out=dw),
        }

    return [layer(n, k) for n, k in job.layers]


serve(products)
