"""PyTorch's CSR: sparse times dense, and sampled_addmm for the gradient at active weights.

Activations are [features, tokens]: W is the left factor, the form that PyTorch hands to MKL.
"""

import torch
from peer import serve


def products(job):
    torch.set_num_threads(job.threads)
    torch.set_grad_enabled(False)

    def layer(i, n, k):
        positions, columns = (torch.from_numpy(a) for a in job.csr(i))
        w = torch.sparse_csr_tensor(positions, columns, torch.randn(len(columns)), (n, k))
        wt = w.to_dense().t().to_sparse_csr()
        x, dy = torch.randn(k, job.tokens), torch.randn(n, job.tokens)
        xt = x.t()
        zero = torch.sparse_csr_tensor(positions, columns, torch.zeros(len(columns)), (n, k))
        return {
            "fwd": lambda: torch.mm(w, x),
            "dx": lambda: torch.mm(wt, dy),
            "dw": lambda: torch.sparse.sampled_addmm(zero, dy, xt),
        }

    return [layer(i, n, k) for i, (n, k) in enumerate(job.layers)]


serve(products)
